# fish completion for gpuctl. "gpuctl completions fish" printed it.

# Whether -- stands before the cursor: what follows belongs to another command.
function __gpuctl_has_dashes
    contains -- -- (commandline -opc)
end

# Whether the line begins with the command of this path. Of each word several spellings may be given: a|b.
function __gpuctl_begins
    set -l words (commandline -opc)
    for spellings in $argv
        set -e words[1]
        contains -- "$words[1]" (string split '|' -- $spellings); or return 1
    end
end

# Whether what is completed is this command's own.
function __gpuctl_is
    not __gpuctl_has_dashes; and __gpuctl_begins $argv
end

# The same for one with commands below it, which come first: none of them was named.
function __gpuctl_is_above
    __gpuctl_is $argv[2..]; and not __gpuctl_begins $argv[2..] $argv[1]
end

# Whether what is completed is handed on by this command.
function __gpuctl_hands_on
    __gpuctl_has_dashes; and __gpuctl_begins $argv
end

# Whether the last option of the line is this one, which takes several values.
function __gpuctl_goes_on
    contains -- (string match -r -- '^-.*' (commandline -opc))[-1] $argv
end

# What stands after -- completes as it would by itself, behind these words. Escaped, all of it is words and nothing is run.
function __gpuctl_rest
    set -l words (commandline -opc)
    set -e words[1..(contains -i -- -- $words)]
    complete -C (string join ' ' -- $argv (string escape -- $words) (commandline -ct))
end

# What the cursor's word has of a value: --source=sim:DIR is the value sim:DIR.
function __gpuctl_value
    string replace -r '^(--[^=]*=|-[a-z])' '' -- (commandline -ct)
end

# Each of these words, behind what a list with commas has already.
function __gpuctl_list
    set -l before (string match -r '^.*,' -- (__gpuctl_value))
    printf '%s\n' "$before"$argv
end

# The kernel's list costs no call of the driver; its length says what indexes there are.
function __gpuctl_gpus
    set -l gpus /proc/driver/nvidia/gpus/*/
    test (count $gpus) -gt 0; and __gpuctl_list (seq 0 (math (count $gpus) - 1))
end

function __gpuctl_directories
    __fish_complete_directories (__gpuctl_value) ''
end

function __gpuctl_source
    printf '%s\n' nvml nvidia-smi sim:
    set -l directory (string match -r '^sim:(.*)' -- (__gpuctl_value))[2]; or return 0
    set -l found $directory*/
    test (count $found) -gt 0; and printf 'sim:%s\n' $found
end

complete -c gpuctl -e
complete -c gpuctl -f

complete -c gpuctl -n '__gpuctl_is_above \'look|look-again|sim\'' -a 'look' -d 'say what\'s there'
complete -c gpuctl -n '__gpuctl_is_above \'look|look-again|sim\'' -a 'sim' -d 'simulate'
complete -c gpuctl -n '__gpuctl_is_above \'look|look-again|sim\'' -l version -d 'print the version'
complete -c gpuctl -n '__gpuctl_is_above \'look|look-again|sim\'' -s h -l help -d 'display help for command'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -l format -r -f -a 'table json' -d 'how: as [it] \\ is'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -l source -r -F -a '(__gpuctl_source)' -d 'from where'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -l class -r -f -a '(__gpuctl_list orphan stopped)' -d 'which'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -l gpu -r -f -a '(__gpuctl_gpus)' -d 'which GPUs'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -l lint -r -F -d 'these too'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -s o -l output -r -F -d 'to there'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -l audit-log -r -F -d 'what was done'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -s h -l help -d 'display help for command'
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'; and __gpuctl_goes_on --lint' -F
complete -c gpuctl -n '__gpuctl_is \'look|look-again\'' -F
complete -c gpuctl -n '__gpuctl_hands_on \'look|look-again\'' -f -a '(__gpuctl_rest)'
complete -c gpuctl -n '__gpuctl_is_above init sim' -a 'init' -d 'make a server'
complete -c gpuctl -n '__gpuctl_is_above init sim' -s h -l help -d 'display help for command'
complete -c gpuctl -n '__gpuctl_is sim init' -l for -r -f -d 'how long'
complete -c gpuctl -n '__gpuctl_is sim init' -s h -l help -d 'display help for command'
complete -c gpuctl -n '__gpuctl_is sim init' -f -a '(__gpuctl_directories)'
complete -c gpuctl -n '__gpuctl_hands_on sim init' -f -a '(__gpuctl_rest gpuctl look)'

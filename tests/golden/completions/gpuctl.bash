# bash completion for gpuctl. "gpuctl completions bash" printed it.
# shellcheck shell=bash

# These belong to _gpuctl and are set by what it calls:
#   words      the line up to the cursor, offsets where in COMP_WORDS each begins
#   current    what is to be completed, before what stands before it in the same word: --output= or sim:
#   command    the command that the words name, complete its function

_gpuctl() {
    local words=() offsets=() current before='' command='' complete=_gpuctl_of at
    COMPREPLY=()
    _gpuctl_read_line
    current=${words[-1]}
    for ((at = 1; at < ${#words[@]} - 1; at++)); do
        _gpuctl_descend "${words[at]}" || break
    done
    for (( ; at < ${#words[@]} - 1; at++)); do
        [[ ${words[at]} == -- ]] || continue
        _gpuctl_after_dashes "${offsets[at + 1]}"
        return 0
    done
    if ((${#words[@]} > 1)) && [[ ${words[-2]} == *[\<\>] ]]; then
        compopt -o default
    else
        _gpuctl_complete "$complete"
    fi
}

# COMP_WORDBREAKS has split --format=json and sim:DIR, which are joined again.
_gpuctl_read_line() {
    local line=${COMP_LINE:0:COMP_POINT} word at
    for ((at = 0; at <= COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if ((at > 0)) && [[ $line != [[:space:]]* ]]; then
            ((at < COMP_CWORD)) || word=$line
            words[-1]+=$word
        else
            line=${line#"${line%%[![:space:]]*}"}
            ((at < COMP_CWORD)) || word=$line
            words+=("$word")
            offsets+=("$at")
        fi
        line=${line#"$word"}
    done
}

# Completes the last word by the function of a command, which is called with an option to complete its value, with - to
# say what options there are, and with nothing to complete what else may stand there. Its status says whether it could.
_gpuctl_complete() {
    local options=() variadic=() option='' at last=$((${#words[@]} - 1))
    "$1" -
    # The word may belong to the option before it; several do if that is variadic.
    for ((at = last - 1; at > 0; at--)); do
        [[ ${words[at]} == -* ]] || continue
        option=${words[at]}
        ((at == last - 1)) || [[ " ${variadic[*]} " == *" $option "* && $current != -* ]] || option=
        break
    done
    if [[ $current == --*=* ]]; then
        option=${current%%=*}
        before=$option=
        current=${current#*=}
        "$1" "$option"
    elif [[ $option == -?* && $option != -- ]] && "$1" "$option"; then
        return 0
    elif [[ $current == -* ]]; then
        _gpuctl_words "${options[@]}"
    else
        "$1" ''
    fi
}

# What bash takes for finished of the word, and must not be in a candidate: --format= of --format=js.
_gpuctl_finished() {
    local breaks=${COMP_WORDBREAKS//[^=:]/} last=${words[-1]}
    finished=
    if [[ -n $breaks && $last == *["$breaks"]* ]]; then
        finished=${last%"${last##*["$breaks"]}"}
    fi
}

_gpuctl_words() {
    local word finished
    _gpuctl_finished
    for word in "$@"; do
        [[ $word == "$current"* ]] || continue
        word=$before$word
        COMPREPLY+=("${word#"$finished"}")
    done
}

_gpuctl_list() {
    if [[ $current == *,* ]]; then
        before+=${current%,*},
        current=${current##*,}
    fi
    _gpuctl_words "$@"
}

# The kernel's list costs no call of the driver; its length says what indexes there are.
_gpuctl_gpus() {
    local gpu indexes=()
    for gpu in /proc/driver/nvidia/gpus/*; do
        [[ -d $gpu ]] && indexes+=("${#indexes[@]}")
    done
    _gpuctl_list "${indexes[@]}"
}

# Bash itself completes paths best, quotes and ~ included, if it takes the same part of the word for the path.
_gpuctl_paths() {
    local kind=$1 finished found quoted paths=()
    _gpuctl_finished
    if [[ $finished == "$before" ]]; then
        if [[ $kind == directory ]]; then compopt -o dirnames; else compopt -o default; fi
        return 0
    fi
    if [[ $kind == directory ]]; then kind=-d; else kind=-f; fi
    mapfile -t paths < <(compgen "$kind" -- "$current")
    for found in "${paths[@]}"; do
        printf -v quoted %q "$found"
        if [[ -d $found ]]; then
            quoted+=/
            compopt -o nospace
        fi
        quoted=$before$quoted
        COMPREPLY+=("${quoted#"$finished"}")
    done
}

_gpuctl_source() {
    if [[ $current == sim:* ]]; then
        before+=sim:
        current=${current#sim:}
        _gpuctl_paths directory
        return 0
    fi
    _gpuctl_words nvml nvidia-smi sim:
    if ((${#COMPREPLY[@]} == 0)); then
        _gpuctl_paths file
    elif [[ ${COMPREPLY[*]} == *sim: && ${#COMPREPLY[@]} == 1 ]]; then
        compopt -o nospace
    fi
}

# The command that is run completes as it would by itself, where bash-completion is there to know how.
_gpuctl_job() {
    local found quoted
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD > $1)) || [[ $current == */* ]]; then
        compopt -o default
    else
        while IFS= read -r found; do
            printf -v quoted %q "$found"
            COMPREPLY+=("$quoted")
        done < <(compgen -c -- "$current")
    fi
}

_gpuctl_descend() {
    case "$command/$1" in
        /look | /look-again) command=look complete=_gpuctl_of_look ;;
        /sim) command=sim complete=_gpuctl_of_sim ;;
        sim/init) command='sim init' complete=_gpuctl_of_sim_init ;;
        *) return 1 ;;
    esac
}

_gpuctl_after_dashes() {
    case $command in
        look) _gpuctl_job "$1" ;;
        'sim init') _gpuctl_complete _gpuctl_of_look ;;
    esac
}

_gpuctl_of() {
    case $1 in
        -)
            options=(--version -h --help)
            ;;
        '') _gpuctl_words look sim ;;
        *) return 1 ;;
    esac
}

_gpuctl_of_look() {
    case $1 in
        -)
            options=(--format --source --class --gpu --lint -o --output --audit-log -h --help)
            variadic=(--lint)
            ;;
        --format) _gpuctl_words table json ;;
        --source) _gpuctl_source ;;
        --class) _gpuctl_list orphan stopped ;;
        --gpu) _gpuctl_gpus ;;
        --lint) _gpuctl_paths file ;;
        -o | --output) _gpuctl_paths file ;;
        --audit-log) _gpuctl_paths file ;;
        '') _gpuctl_paths file ;;
        *) return 1 ;;
    esac
}

_gpuctl_of_sim() {
    case $1 in
        -)
            options=(-h --help)
            ;;
        '') _gpuctl_words init ;;
        *) return 1 ;;
    esac
}

_gpuctl_of_sim_init() {
    case $1 in
        -)
            options=(--for -h --help)
            ;;
        --for) : ;;
        '') _gpuctl_paths directory ;;
        *) return 1 ;;
    esac
}

complete -F _gpuctl gpuctl

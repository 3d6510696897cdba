#compdef gpuctl
# zsh completion for gpuctl. "gpuctl completions zsh" printed it.

_gpuctl_list() {
    compset -P '*,'
    compadd -S '' -- "$@"
}

# The kernel's list costs no call of the driver; its length says what indexes there are.
_gpuctl_gpus() {
    local -a gpus=(/proc/driver/nvidia/gpus/*(N/)) indexes=()
    (( $#gpus )) && indexes=({0..$(( $#gpus - 1 ))})
    _gpuctl_list $indexes
}

_gpuctl_source() {
    if compset -P 'sim:'; then
        _files -/
    else
        compadd -- nvml nvidia-smi
        compadd -S '' -- sim:
        _files
    fi
}

# Whether the last option of the line is one of these, which take several values.
_gpuctl_goes_on() {
    (( $@[(Ie)$words[(R)-*]] ))
}

_gpuctl_of() {
    if (( CURRENT > 2 )) && [[ $words[2] != -* ]]; then
        compset -n 2
        case $words[1] in
            look|look-again) _gpuctl_of_look ;;
            sim) _gpuctl_of_sim ;;
        esac
        return
    elif (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
        local -a commands=(
            'look:say what'\''s there'
            'sim:simulate'
        )
        _describe command commands
        return
    fi
    _arguments -s \
        '(- *)--version[print the version]' \
        '(- *)'{-h,--help}'[display help for command]'
}

_gpuctl_of_look() {
    if compset -N --; then
        _normal
        return
    fi
    _arguments -s \
        '--format=[how\: as \[it\] \\ is]:how:(table json)' \
        '--source=[from where]:where:_gpuctl_source' \
        '--class=[which]:names: _gpuctl_list orphan stopped' \
        '--gpu=[which GPUs]:list: _gpuctl_gpus' \
        '*--lint=[these too]:file:_files' \
        '(-o --output)'{-o+,--output=}'[to there]:file:_files' \
        '--audit-log=[what was done]:file:_files' \
        '(- *)'{-h,--help}'[display help for command]' \
        '*:file:_files'
}

_gpuctl_of_sim() {
    if (( CURRENT > 2 )) && [[ $words[2] != -* ]]; then
        compset -n 2
        case $words[1] in
            init) _gpuctl_of_sim_init ;;
        esac
        return
    elif (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
        local -a commands=(
            'init:make a server'
        )
        _describe command commands
        return
    fi
    _arguments -s \
        '(- *)'{-h,--help}'[display help for command]'
}

_gpuctl_of_sim_init() {
    if compset -N --; then
        words=(look "$words[@]")
        (( CURRENT += 1 ))
        _gpuctl_of_look
        return
    fi
    _arguments -s \
        '--for=[how long]:time: ' \
        '(- *)'{-h,--help}'[display help for command]' \
        '1:directory:_files -/'
}

if [[ $funcstack[1] == _gpuctl ]]; then _gpuctl_of; else compdef _gpuctl_of gpuctl; fi

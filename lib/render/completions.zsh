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

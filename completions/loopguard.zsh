#compdef loopguard

_loopguard_completion() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _LOOPGUARD_COMPLETE=complete_zsh loopguard)
}

compdef _loopguard_completion loopguard

# Where compinit loads this file on the first use, that use is to be answered too.
[[ ${zsh_eval_context[-1]} == loadautofunc ]] && _loopguard_completion "$@"

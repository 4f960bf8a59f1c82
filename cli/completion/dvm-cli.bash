# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion for dvm-cli, which is asked itself for what may stand where

_dvm_cli()
{
    local line=${COMP_LINE:0:COMP_POINT} cur before
    local -a words answer
    COMPREPLY=()

    # Words as the shell takes them, not cut at every @ or = as in COMP_WORDS
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cur=${words[-1]}
    mapfile -t answer < <("${words[0]/#\~\//$HOME/}" __complete "${words[@]:1}" 2>/dev/null)

    case ${answer[0]-} in
        words) COMPREPLY=("${answer[@]:1}"); COMPREPLY=("${COMPREPLY[@]%%$'\t'*}") ;;
        files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        directories) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        commands) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -d -- "$cur") ;;
        program*)
            if declare -F _command_offset >/dev/null; then
                _command_offset "${answer[0]#program }"
            else
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return
            ;;
    esac

    # bash replaces only what stands behind the last character that breaks words.
    before=${cur%"${cur##*["${COMP_WORDBREAKS//[[:space:]]/}"]}"}
    if [[ -n $before && ${#COMPREPLY[@]} -gt 0 && ${answer[0]} == words ]]; then
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
}

complete -F _dvm_cli dvm-cli dvm-mpirun dvm-srun

# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for dvm-cli, which is asked itself for what may stand where

function __dvm_cli_complete
    set -l tokens (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($tokens[1] __complete $tokens[2..-1] $current 2>/dev/null)
    or return
    switch $answer[1]
        case words
            test (count $answer) -gt 1
            and printf '%s\n' $answer[2..-1]
        case files
            __fish_complete_path $current
        case directories
            __fish_complete_directories $current
        case commands 'program *'
            set -l skip (count $tokens)
            string match -q 'program *' $answer[1]
            and set skip (string replace 'program ' '' $answer[1])
            complete -C (string join ' ' -- (string escape -- $tokens[(math $skip + 1)..-1]) $current)
    end
end

complete -c dvm-cli -f -a '(__dvm_cli_complete)'
complete -c dvm-mpirun -f -a '(__dvm_cli_complete)'
complete -c dvm-srun -f -a '(__dvm_cli_complete)'

# Completion of memtrack for bash. Made by: memtrack help --format=bash
_memtrack()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options=
    [[ $word == '=' ]] && word=
    [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "--help --version run ctl summary table tree stats flamegraph timeline dump info recompress bundle help" -- "$word"))
        return
    fi
    case $before in
    --index)
        COMPREPLY=($(compgen -W "auto always never" -- "$word"))
        return
        ;;
    --sort)
        COMPREPLY=($(compgen -W "total own count name" -- "$word"))
        return
        ;;
    --source)
        COMPREPLY=($(compgen -W "none lines context" -- "$word"))
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W "auto always never" -- "$word"))
        return
        ;;
    esac
    case ${COMP_WORDS[1]} in
    run)
        options="-h --help -o --output -f --force -q --quiet -v --verbose -m -c --aggregate --last --sample-bytes --min-size --index --max-file --max-overhead --dormant --delay --duration --on-exceed --no-follow --follow-fork --native --no-symbols --trace-python-allocators --pymalloc"
        ;;
    ctl)
        options="-h --help -o --output -f --force"
        ;;
    summary)
        options="-h --help -o --output -f --force -q --quiet --leaks --allocated --temporary-allocations --at --range --pools --process --thread --sort -n --rows --show-runtime --no-native --json --width --color --ascii --no-pager"
        ;;
    table)
        options="-h --help -o --output -f --force -q --quiet --leaks --allocated --temporary-allocations --at --range --pools --process --thread --sort -n --rows --show-runtime --no-native --json --width --color --ascii --no-pager"
        ;;
    tree)
        options="-h --help -o --output -f --force -q --quiet --leaks --allocated --temporary-allocations --at --range --pools --process --thread --sort -n --rows --threshold --inverted --show-runtime --no-native --json --width --color --ascii --no-pager"
        ;;
    stats)
        options="-h --help -o --output -f --force -q --quiet --leaks --allocated --temporary-allocations --at --range --pools --process --thread -n --rows --show-runtime --no-native --json --width --color --ascii --no-pager"
        ;;
    flamegraph | report)
        options="-h --help -o --output -f --force -q --quiet --leaks --allocated --temporary-allocations --at --range --pools --process --thread --inverted --show-runtime --no-native --source --full --max-size"
        ;;
    timeline)
        options="-h --help -o --output -f --force -q --quiet --pools --process --thread -n --rows --json --width --color --ascii --no-pager"
        ;;
    dump | parse)
        options="-h --help -o --output -f --force -q --quiet --process --thread -n --rows --show-runtime --no-native --json --width --color --ascii --no-pager"
        ;;
    info)
        options="-h --help -o --output -f --force -q --quiet --verify --json --width --color --ascii --no-pager"
        ;;
    recompress)
        options="-h --help -o --output --last -f --force -q --quiet"
        ;;
    bundle)
        options="-h --help -o --output -f --force -q --quiet"
        ;;
    help)
        options="-h --help"
        ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}
complete -o filenames -F _memtrack memtrack

# What every suite's `run` shares; sourced, never run. Expects bash.
#
#   cache          a folder outside the clone, kept between runs
#   bin            the ackdrop binary under test
#   need CMD PKG   a command, and Debian's package for it: installed with --install or CI=true, else the suite is skipped
#   filled NAME FILL FILE…  prints a folder of the cache, filled once by `FILL FOLDER` for these contents of the files
#   skip WHY       ends the suite as skipped (exit 77), which CI=true never allows
#   ok WHAT / bad WHAT [DETAIL]   counts a case
#   finish         prints the closing line and ends the suite

set -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${SUITE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ackdrop}
mkdir -p "$cache"
passed=0 failed=0

may_install() { [ "${CI:-}" = true ] || [ "${SUITE_INSTALL:-}" = 1 ]; }

skip() {
    echo "SKIPPED: $*"
    [ "${CI:-}" = true ] && { echo "CI=true allows no skipped suite"; exit 1; }
    exit 77
}

need() {
    command -v "$1" >/dev/null 2>&1 && return
    may_install || skip "\`$1\` is missing: apt-get install $2, or run tests/run --install"
    export DEBIAN_FRONTEND=noninteractive
    [ -n "${apt_updated:-}" ] || { apt-get update -qq && apt_updated=1; }
    apt-get install -y -qq --no-install-recommends "$2" >/dev/null || { echo "apt-get install $2 failed"; exit 1; }
    command -v "$1" >/dev/null 2>&1 || { echo "\`$1\` is still missing after apt-get install $2"; exit 1; }
}

filled() {
    local name=$1 fill=$2 folder
    shift 2
    folder=$cache/$name-$(cat "$@" | sha256sum | cut -c1-16)
    mkdir -p "$(dirname "$folder")"
    (
        flock 9
        [ -e "$folder/complete" ] && exit
        rm -rf "$folder" && mkdir "$folder" && "$fill" "$folder" >"$folder/log" 2>&1 && touch "$folder/complete" && exit
        cat "$folder/log" >&2
        exit 1
    ) 9>"$folder.lock" || return 1
    echo "$folder"
}

if [ -z "${SUITE_BIN:-}" ]; then
    (cd "$root" && cargo build --locked --quiet) || exit 1
    SUITE_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/ackdrop
fi
export SUITE_BIN
bin=$SUITE_BIN

ok() { passed=$((passed + 1)); echo "ok   $1"; }
bad() { failed=$((failed + 1)); echo "FAIL $1${2:+: $2}"; }

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

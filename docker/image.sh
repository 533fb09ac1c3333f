#!/usr/bin/env bash
# Packs a static binary, built on this machine, into the image that docker/Dockerfile describes. Pulls nothing.
#
#   docker/image.sh [--tag NAME:TAG] [--arch amd64|arm64]… [--out DIR]
#
# --tag    the image's name (default ackdrop:latest); each architecture is NAME:TAG-ARCH, and this machine's is NAME:TAG as well
# --arch   which to build (default: each whose Rust target is installed)
# --out    also write, for each architecture, the binary, the image as a tar for `docker load`, and SHA256SUMS of both
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
usage() {
    sed -n '2,/^set/{s/^# \{0,1\}//;/^set/!p}' "$0"
    exit "$1"
}
fail() {
    echo "docker/image.sh: $*" >&2
    exit 1
}

tag=ackdrop:latest out='' asked=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage 0 ;;
    --tag | --arch | --out) [ $# -ge 2 ] || fail "$1 needs a value" ;;&
    --tag) tag=$2 ;;
    --arch)
        [[ $2 =~ ^(amd64|arm64)$ ]] || fail "\`$2\` is no architecture of this image; there are amd64 and arm64"
        asked+=("$2")
        ;;
    --out) out=$2 ;;
    *) usage 2 >&2 ;;
    esac
    shift 2
done
[[ ${tag##*/} == *:* ]] || tag=$tag:latest
if [ -n "$out" ]; then
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
fi

declare -A cpus=([amd64]=x86_64 [arm64]=aarch64)
installed() { [ -d "$(rustc --print target-libdir --target "$1" 2>/dev/null)" ]; }
host=$(rustc -vV | sed -n 's/^host: //p')

# Names the installed Rust target of an architecture. glibc goes first: musl's allocator is slow under load.
target_of() {
    local cpu=${cpus[$1]} libc
    for libc in gnu musl; do
        installed "$cpu-unknown-linux-$libc" && echo "$cpu-unknown-linux-$libc" && return
    done
    return 1
}

# A target for another processor needs a C compiler and linker for it, under Debian's name unless the environment says otherwise.
name_linker() {
    local cpu=${1%%-*} variable
    [ "$cpu" != "${host%%-*}" ] || return 0
    variable=CARGO_TARGET_$(echo "${1^^}" | tr - _)_LINKER
    [ -z "${!variable:-}" ] || return 0
    command -v "$cpu-linux-gnu-gcc" >/dev/null || fail "$1 needs \`$cpu-linux-gnu-gcc\` (apt-get install gcc-${cpu/_/-}-linux-gnu), or set $variable"
    export "$variable=$cpu-linux-gnu-gcc"
}

if [ ${#asked[@]} -eq 0 ]; then
    for arch in amd64 arm64; do
        target_of "$arch" >/dev/null && asked+=("$arch")
    done
    [ ${#asked[@]} -gt 0 ] || fail "no Linux target is installed; rustup target add x86_64-unknown-linux-gnu"
fi

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
revision=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

pack() {
    local arch=$1 target image=$tag-$1
    target=$(target_of "$arch") || fail "no Rust target for $arch is installed; rustup target add ${cpus[$arch]}-unknown-linux-gnu"
    name_linker "$target"
    "$root/docker/binary.sh" "$target" "$context/$arch/out"
    # The last stage of the Dockerfile, from the folder in place of its first stage.
    sed -n '/^FROM scratch$/,$ { s/ --from=build / /; p }' "$root/docker/Dockerfile" |
        docker build --quiet --platform "linux/$arch" --build-arg "VERSION=$version" --build-arg "REVISION=$revision" \
            --tag "$image" --file - "$context/$arch" >/dev/null
    echo "$image $(docker image inspect --format '{{.Size}}' "$image") bytes ($target)"
    if [ "${cpus[$arch]}" = "${host%%-*}" ]; then
        docker tag "$image" "$tag"
        echo "$tag is $image"
    fi
    [ -z "$out" ] || {
        cp "$context/$arch/out/ackdrop" "$out/ackdrop-linux-$arch"
        docker save --output "$out/ackdrop-linux-$arch.tar" "$image"
    }
}

for arch in "${asked[@]}"; do
    pack "$arch"
done
[ -z "$out" ] || {
    cd "$out"
    sha256sum ackdrop-linux-* >SHA256SUMS
    cat SHA256SUMS
}

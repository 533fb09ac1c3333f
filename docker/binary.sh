#!/bin/sh
# Builds the static binary for one Rust target, and lays out what the image holds:
#
#   docker/binary.sh TARGET OUT
#
#   OUT/ackdrop   the binary
#   OUT/owned/    what belongs to the image's user: an empty folder, ca
#
# The target is always named to Cargo, also where it is the machine's own: without, the flags would reach procedural macros, which
# cannot be static.
set -eu
cd "$(dirname "$0")/.."
target=$1 out=$2

RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --release --bin ackdrop --target "$target"
mkdir -p "$out/owned/ca"
cp "${CARGO_TARGET_DIR:-target}/$target/release/ackdrop" "$out/ackdrop"
chmod 755 "$out/ackdrop" "$out/owned/ca"

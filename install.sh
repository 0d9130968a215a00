#!/bin/sh
# Installs koda for the user who runs this: downloads a release, checks it, and moves the program to its place.
#
#   install.sh [--to DIR] [--version VERSION]
#
# KODA_DOWNLOAD_BASE is the address of a mirror, or of a directory: its releases lie below v0.1.0 and so on.
# No profile is edited, and nothing runs as root unless you do.
set -eu

# `npm run release` writes these lines.
default_version=
default_base=
public_key=

main() {
  version=$default_version
  to=
  while [ $# -gt 0 ]; do
    case $1 in
      --to) value_of "$@" && to=$2 && shift 2 ;;
      --to=*) value_of --to "${1#*=}" && to=${1#*=} && shift ;;
      --version) value_of "$@" && version=$2 && shift 2 ;;
      --version=*) value_of --version "${1#*=}" && version=${1#*=} && shift ;;
      -h | --help) usage && exit 0 ;;
      *) fail "Unknown argument \"$1\": expected --to DIR or --version VERSION" ;;
    esac
  done
  base=${KODA_DOWNLOAD_BASE:-$default_base}
  [ -n "$base" ] || fail "No address to download from: set KODA_DOWNLOAD_BASE"
  [ -n "$version" ] || fail "No version is chosen: use --version, such as --version 0.1.0"
  version=${version#v}
  case $version in *[!0-9A-Za-z.+-]*) fail "Bad version \"$version\": expected one such as 0.1.0" ;; esac

  target=$(detect_target)
  # No mirror can fill the disk: nothing of a release is larger than 1 GiB. And what root installs is for everyone.
  ulimit -f 2097152 2> /dev/null || :
  if [ "$(id -u)" = 0 ]; then umask 022; fi
  choose_place
  from=${base%/}/v$version
  scratch=$(mktemp -d "$to/.koda-install.XXXXXX") || fail "Cannot write to $to: choose another directory with --to"
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP

  fetch SHA256SUMS
  check_signature
  name=koda-$version-$target
  if have xz && [ -n "$(listed "$name.tar.xz")" ]; then format=tar.xz; else format=tar.gz; fi
  fetch "$name.$format"
  check_sum "$name.$format"
  unpack "$name.$format"
  put_in_place
  advise
}

usage() {
  cat << END
Usage: install.sh [--to DIR] [--version VERSION]

  --to DIR            where koda goes (default: ~/.local/bin)
  --version VERSION   the release (default: ${default_version:-none})

KODA_DOWNLOAD_BASE    the address of a mirror (default: ${default_base:-none})
END
}

value_of() {
  [ -n "${2:-}" ] || fail "$1 needs a value"
}

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

have() {
  command -v "$1" > /dev/null 2>&1
}

detect_target() {
  have uname || fail "Cannot find uname: is PATH set?"
  [ "$(uname -s)" = Linux ] || fail "There is no koda for $(uname -s), only for Linux"
  case $(uname -m) in
    x86_64 | amd64) machine=x64 loader=/lib64/ld-linux-x86-64.so.2 ;;
    aarch64 | arm64) machine=arm64 loader=/lib/ld-linux-aarch64.so.1 ;;
    *) fail "There is no koda for $(uname -m), only for x86_64 and aarch64" ;;
  esac
  if [ -e "$loader" ]; then
    printf 'linux-%s\n' "$machine"
  elif ls /lib/ld-musl-*.so.1 > /dev/null 2>&1; then
    printf 'linux-%s-musl\n' "$machine"
  else
    fail "This system has neither $loader nor /lib/ld-musl-*.so.1: koda needs glibc or musl"
  fi
}

# The directory, which is made where there is none: an absolute path in $to.
choose_place() {
  if [ -z "$to" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set: choose a directory with --to"
    to=$HOME/.local/bin
  fi
  # shellcheck disable=SC2088 # nobody has expanded it
  case $to in "~/"*) fail "--to \"$to\": the shell expands no ~ there; write --to \"\$HOME/${to#??}\"" ;; esac
  mkdir -p -- "$to" || fail "Cannot create $to: choose another directory with --to"
  # Not a place below CDPATH, and with a line end that the name may end with.
  case $to in /*) ;; *) to=$PWD/$to ;; esac
  to=$(cd "$to" && printf '%s.' "$PWD") || fail "Cannot enter $to: choose another directory with --to"
  to=${to%.}
  [ ! -d "$to/koda" ] || fail "$to/koda is a directory: remove it, or choose another one with --to"
}

fetch() {
  url=$from/$1
  case $from in
    http://* | https://*) ;;
    *)
      cp "$url" "$scratch/$1" || fail "Cannot copy $url"
      return
      ;;
  esac
  if have curl; then
    # A redirect may not lead from https to http.
    case $from in https://*) protocols='=https' ;; *) protocols='=http,https' ;; esac
    curl -fsSL --proto "$protocols" --retry 3 --connect-timeout 20 --speed-time 60 --speed-limit 1 \
      -o "$scratch/$1" "$url" || fail "Cannot download $url (curl)"
  elif have wget; then
    wget -q -O "$scratch/$1" "$url" || fail "Cannot download $url (wget)"
  else
    fail "Cannot download $url: install curl or wget"
  fi
}

# A checksum from the same place proves only that nothing was damaged; the signature proves who made it.
check_signature() {
  [ -n "$public_key" ] || return 0
  if ! have minisign; then
    echo "install.sh: minisign is not installed, so only the checksum is verified" >&2
    return 0
  fi
  fetch SHA256SUMS.minisig
  minisign -V -q -P "$public_key" -m "$scratch/SHA256SUMS" ||
    fail "The signature of $from/SHA256SUMS is wrong: nothing was installed"
}

# The checksum of a file; nothing when the list lacks it.
listed() {
  awk -v name="$1" '$2 == name { print $1 }' "$scratch/SHA256SUMS"
}

check_sum() {
  expected=$(listed "$1")
  [ -n "$expected" ] || fail "$from/SHA256SUMS has no checksum of $1"
  actual=$(sum_of "$scratch/$1")
  [ "$actual" = "$expected" ] ||
    fail "The checksum of $url is $actual, expected $expected: the download is damaged, and nothing was installed"
}

sum_of() {
  if have sha256sum; then
    sha256sum < "$1" | cut -d ' ' -f 1
  elif have shasum; then
    shasum -a 256 < "$1" | cut -d ' ' -f 1
  elif have openssl; then
    openssl dgst -sha256 -r < "$1" | cut -d ' ' -f 1
  else
    fail "Cannot verify the download: install sha256sum, shasum or openssl"
  fi
}

unpack() {
  case $1 in
    *.xz) xz -dc "$scratch/$1" > "$scratch/archive.tar" ;;
    *) gzip -dc "$scratch/$1" > "$scratch/archive.tar" ;;
  esac || fail "Cannot unpack $1"
  tar -xf "$scratch/archive.tar" -C "$scratch" || fail "Cannot unpack $1"
  rm -f "$scratch/$1" "$scratch/archive.tar"
  program=$scratch/$name/bin/koda
  if [ -L "$program" ] || [ ! -f "$program" ]; then fail "$1 has no $name/bin/koda: nothing was installed"; fi
  found=$("$program" --version) || fail "The program does not start here: see the message above; nothing was installed"
}

# The program last, and by a rename: a koda that runs goes on, and at no time there is half of one.
put_in_place() {
  share=${to%/bin}/share
  if [ "$share" != "$to/share" ] && [ -d "$scratch/$name/share" ]; then
    if ! { mkdir -p "$share" && cp -R "$scratch/$name/share/." "$share/"; }; then
      echo "install.sh: Cannot write to $share: manual pages and completions are left out" >&2
    fi
  fi
  mv -f "$program" "$to/koda" || fail "Cannot move koda to $to"
}

advise() {
  echo "Installed $found: $to/koda"
  case :${PATH:-}: in
    *":$to:"*)
      first=$(command -v koda)
      [ "$first" = "$to/koda" ] || echo "Another koda comes first in PATH: $first"
      return
      ;;
  esac
  case $to in
    *[\"\$\`\\:]* | *"
"*) echo "$to is not in PATH, and has characters that make it hard to add" ;;
    *)
      echo "$to is not in PATH. To add it, put this line into your shell's profile:"
      # shellcheck disable=SC2016 # for the profile to expand
      printf '  export PATH="%s:$PATH"\n' "$to"
      ;;
  esac
}

# The last line, so that a script that was cut off does nothing.
main "$@"

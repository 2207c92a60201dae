#!/bin/sh
# Lays out what is deployed: target/aws/FUNCTION with bootstrap, sendtrail.toml and drivers/, for the three functions.
#
#   infra/aws/package.sh CONFIG [arm64|x86_64] [ZIPS]
#
# CONFIG is the folder with sendtrail.toml and drivers/. With ZIPS, a folder that holds the zips of a release, nothing is
# built. Without it cargo-lambda builds: one package after the other, for built together, cargo would give each the
# features of the others.
#
# WAKE=on takes or builds the side-effect that makes wake-ups, for the template's Wake=on. PROFILE is the profile of Cargo,
# release where it is not set. OUT is the folder for the result, target/aws where it is not set.
set -eu

config=${1:?usage: infra/aws/package.sh CONFIG [arm64|x86_64] [ZIPS]}
arch=${2:-arm64}
zips=${3:-}
root=$(cd "$(dirname "$0")/../.." && pwd)
built=${CARGO_TARGET_DIR:-$root/target}
profile=${PROFILE:-release}
to=${OUT:-$root/target/aws}
wake=${WAKE:-off}

[ -f "$config/sendtrail.toml" ] || { echo "$config/sendtrail.toml is not there" >&2; exit 1; }
case $arch in
  arm64) flag=--arm64 ;;
  x86_64) flag=--x86-64 ;;
  *) echo "the architecture is arm64 or x86_64, not $arch" >&2; exit 1 ;;
esac

case $wake in
  on | off) ;;
  *) echo "WAKE is on or off, not $wake" >&2; exit 1 ;;
esac

for function in intake side-effect poller; do
  out=$to/$function
  rm -rf "$out"
  mkdir -p "$out/drivers"
  features=
  if [ "$function$wake" = side-effecton ]; then features=wake; fi
  if [ -n "$zips" ]; then
    unzip -q "$zips/sendtrail-$function${features:+-$features}-$arch.zip" bootstrap -d "$out"
  else
    (cd "$root" && cargo lambda build --profile "$profile" --locked "$flag" --features "$features" \
      --package "sendtrail-$function" --bin "$function")
    cp "$built/lambda/$function/bootstrap" "$out/bootstrap"
  fi
  chmod 755 "$out/bootstrap"
  cp "$config/sendtrail.toml" "$out/sendtrail.toml"
  for driver in "$config"/drivers/*.toml; do
    if [ -f "$driver" ]; then cp "$driver" "$out/drivers/"; fi
  done
  echo "$out: $(wc -c < "$out/bootstrap") bytes, $(find "$out/drivers" -type f | wc -l) drivers"
done

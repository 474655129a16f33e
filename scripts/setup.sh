#!/bin/sh
# setup.sh EXTRA - a virtual environment in .venv with the package and that extra.
#
# Needs nothing but Python 3.11 or newer; PYTHON=/path/to/python chooses one. `make`
# calls this whenever the stamp that it leaves, .venv/.installed-EXTRA, is out of date.
set -eu
cd "$(dirname "$0")/.."
extra=$1
venv=.venv
inside=$venv/bin/python

say() { echo "setup: $*" >&2; }
fail() {
    say "$*"
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }
can_import() { "$1" -c "import $2" >/dev/null 2>&1; }
# Run it to find out: version managers put stubs on the path that only print an error.
suits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The first suitable Python whose venv works, else the first suitable one.
choose_python() {
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3 python3.14 python3.13 python3.12 python3.11 python
    fi
    second=
    for candidate; do
        suits "$candidate" || continue
        if can_import "$candidate" "ensurepip, venv"; then
            echo "$candidate"
            return
        fi
        second=${second:-$candidate}
    done
    echo "$second"
}

make_venv() {
    python=$(choose_python)
    if [ -z "$python" ]; then
        fail "found no Python 3.11 or newer as ${PYTHON:-python3, python3.x or python};" \
            "install one, or name it: make PYTHON=/path/to/python3"
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "making $venv with Python $version"
    rm -rf "$venv"
    if can_import "$python" "ensurepip, venv"; then
        "$python" -m venv "$venv"
        return
    fi
    # Debian and Ubuntu keep ensurepip in a package of its own: others can bring pip.
    if can_import "$python" "pip, venv" && "$python" -m venv --without-pip "$venv" &&
        "$python" -m pip --python "$inside" install --quiet pip; then
        return
    fi
    rm -rf "$venv"
    if has uv; then
        uv venv --quiet --seed --python "$python" "$venv" && return
    fi
    if can_import "$python" virtualenv; then
        "$python" -m virtualenv --quiet "$venv" && return
    elif has virtualenv; then
        virtualenv --quiet --python "$python" "$venv" && return
    fi
    rm -rf "$venv"
    fail "this Python cannot make a virtual environment; install the system package" \
        "python$version-venv (or python3-pip, uv or virtualenv) and run make again"
}

if ! { suits "$inside" && can_import "$inside" pip; }; then
    make_venv
fi
say "installing widemargin[$extra] into $venv (the first time takes a minute or two)"
"$inside" -m pip install --quiet --disable-pip-version-check --editable ".[$extra]"
touch "$venv/.installed-$extra"
if [ "$extra" = test ]; then
    touch "$venv/.installed-app" # which is part of it
fi

#!/usr/bin/env python3
"""Makes message pairs from the gettext catalogs in Debian's packages, from English into a language.

    python3 benchmarks/catalogs.py OUT [--language de]      # after apt-get update; needs polib from PyPI

Downloads the packages (0.4 GB) into OUT/debs without installing them, and writes OUT/{train,valid,test}.{en,de}, a
message a line, OUT/test.po, the messages of the test set that have placeholders, and OUT/licenses/, the copyright
notices of the packages: mind them if you pass on the text or a model. Validation and test are whole
packages of their own; what the other sets contain, too, is not in them. Messages with tags are left out, those whose
translation has other placeholders, and the marks of access keys (`_Open`, `&Open`) where both sides have one.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polib

SETS = {
    "test": "wget dolphin evince-common grub-common transmission-gtk kget mate-utils-common thunar libpwquality-common",
    "valid": "tar gedit-common ark kwin-data xfce4-settings devscripts caja-common",
    "train": """apt aptitude-common ardour-data audacity-data balsa-data bash binutils-common bluefish-data calligra-data
        calligrasheets-data cinnamon-l10n claws-mail-i18n coreutils darktable dia-common diffutils digikam-data
        e2fsprogs-l10n evolution-common evolution-data-server-common filezilla-common findutils fish-common gcc-12-locales
        geany-common geany-plugins-common gimp-data git gnome-commander-data gnome-control-center-data gnubg-data
        gnucash-common gnumeric-common gnupg-l10n gramps grisbi-common gutenprint-locales hexchat-common hugin-data
        inkscape k3b-i18n kate5-data kdenlive-data kdevelop-l10n kexi-data kf5-messagelib-data kile-l10n kio kleopatra
        kmail kmymoney-common konversation-data krb5-locales krita-l10n krusader kstars-data ktexteditor-data
        ktorrent-data labplot-data libc-l10n libgegl-common libglib2.0-data libgphoto2-l10n libgtk-3-common
        libgtk-4-common libkf5kdelibs4support-data libvirt-l10n lynx-common mailutils-common mc-data mercurial-common
        mutt nautilus-data network-manager okular pidgin-data plasma-desktop-data plasma-workspace-data rhythmbox-data
        rkward-data sed shotwell-common skrooge-common subversion sylpheed-i18n tellico-data util-linux-locales viking
        vim-runtime vlc-l10n weechat-core xfsprogs""",
}
PRINTF = r"%(?:\d+\$)?[-+ #0']*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh|h|ll|l|j|z|t|L)?[diouxXeEfFgGaAcspm%]"
KINDS = [  # the flag of a message, and what its placeholders look like
    ("python-format", r"%\(\w+\)[-+#0]*\d*(?:\.\d+)?[a-zA-Z]"),
    ("kde-format", r"%L?[1-9](?!\d*\$)(?![\w.])"),
    ("python-brace-format", r"\{\w*\}"),
    ("c-format", PRINTF),
]
TAG = re.compile(r"</?[A-Za-z][^<>]*>|&\w+;")
KEY = re.compile(r"_(?=\w)|&(?=\w)")


def flag_and_placeholders(text):
    """Returns the flag of a message and its placeholders; `% o` in `50 % of` is none."""
    for flag, pattern in KINDS:
        if found := [it for it in re.findall(rf"(?<!\d ){pattern}", text) if it != "%%"]:
            return flag, sorted(re.sub(r"\d+\$", "", it) for it in found)
    return None, []


def has_spaces(language):
    """Returns whether the language puts spaces between words."""
    return language.split("_")[0] not in {"zh", "ja", "th", "km", "lo", "my"}


def pair_of(msgid, msgstr, language):
    """Returns a message and its translation as lines, or nothing if they are of no use."""
    src, tgt = (" ".join(it.split()) for it in (msgid, msgstr))
    if len(KEY.findall(src)) == len(KEY.findall(tgt)) == 1:
        src, tgt = KEY.sub("", src), KEY.sub("", tgt)
    words = [len(it.split()) for it in (src, tgt)]
    is_text = all(re.search(r"[^\W\d_]{2}", re.sub(PRINTF, "", it)) for it in (src, tgt))
    same = flag_and_placeholders(src) == flag_and_placeholders(tgt)
    is_alike = max(words) <= 3 * min(words) + 3 or not has_spaces(language)
    is_good = is_text and same and max(words) <= 80 and is_alike
    return (src, tgt) if is_good and src != tgt and not TAG.search(src + tgt) else None


def pairs_of(deb, folder, language, licenses):
    """Yields the pairs of the catalogs of a package, and keeps its copyright notice."""
    folder.mkdir(parents=True, exist_ok=True)
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], capture_output=True, check=True).stdout
    command = ["tar", "-x", "-C", folder, "--wildcards", f"*/{language}/LC_MESSAGES/*.mo", "*/copyright"]
    subprocess.run(command, input=tar, stderr=subprocess.DEVNULL, check=False)
    notice = folder / "usr/share/doc" / folder.name / "copyright"
    if notice.is_file():
        shutil.copy(notice, licenses / folder.name)
    else:  # the folder is a link to that of another package
        (licenses / folder.name).write_text(f"see /usr/share/doc/{folder.name}/copyright of the installed package\n")
        print(f"{folder.name}: the copyright notice is in another package", file=sys.stderr)
    for catalog in sorted(folder.rglob("*.mo")):
        for entry in polib.mofile(str(catalog)):
            forms = list(entry.msgstr_plural.values()) or [entry.msgstr]
            for pair in zip((entry.msgid, entry.msgid_plural), forms):
                if found := pair_of(*pair, language):
                    yield found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--language", default="de", help="as catalogs name it: de, pt_BR, zh_CN")
    arguments = parser.parse_args()
    out, language = arguments.out, arguments.language
    licenses = out / "licenses"
    licenses.mkdir(parents=True, exist_ok=True)
    debs = out / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    seen = {}
    for name, packages in SETS.items():
        wanted = [it for it in packages.split() if not list(debs.glob(f"{it}_*.deb"))]
        if wanted:
            subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", *wanted], cwd=debs, check=True)
        for package in packages.split():
            [deb] = debs.glob(f"{package}_*.deb")
            for src, tgt in pairs_of(deb, out / "catalogs" / language / package, language, licenses):
                seen.setdefault(src, (name, tgt))
    for name in SETS:
        pairs = [(src, tgt) for src, (of, tgt) in seen.items() if of == name]
        pairs = pairs[:1000] if name == "valid" else pairs
        for side, language in enumerate(("en", language)):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (out / f"{name}.{language}").write_text(text, encoding="utf-8")
        n_with = sum(bool(flag_and_placeholders(src)[0]) for src, _ in pairs)
        print(f"{name}: {len(pairs)} messages, {n_with} with placeholders", file=sys.stderr)
        if name == "test":
            catalog = polib.POFile(wrapwidth=0)
            catalog.metadata = {"Language": language, "Content-Type": "text/plain; charset=UTF-8"}
            for src, _ in pairs:
                if flag := flag_and_placeholders(src)[0]:
                    catalog.append(polib.POEntry(msgid=src, flags=[flag]))
            catalog.save(str(out / "test.po"))


if __name__ == "__main__":
    main()

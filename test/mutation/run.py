# SPDX-License-Identifier: LGPL-2.1-or-later
"""run.py - runs the tests against mutants; see run.sh.

A mutant of the engine is compiled, linked with the unit tests and run; what
survives is run under ThreadSanitizer and AddressSanitizer, and then, unless
--unit-only, within the plug-in by the system tests.  A mutant of the shim is
linked into the plug-in and run by the system tests.

Not counted: what does not compile, and what the compiler makes the same
object of as of the original, or of another mutant.  A mutant that does not
end in time is killed by that: each run has a multiple of what its tests take
without any change.
"""
import argparse
import concurrent.futures
import filecmp
import fnmatch
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutants

HERE = os.path.dirname(os.path.abspath(__file__))
COPIED = ("CMakeLists.txt", "cmake", "include", "plugin", "shim", "test",
          "README.md")
# What C lets pass and no build of ours does: such a mutant is not counted.
C_FLAGS = ["-Werror=incompatible-pointer-types", "-Werror=int-conversion",
           "-Werror=discarded-qualifiers", "-Werror=uninitialized",
           "-Werror=maybe-uninitialized"]
MEMORY = 4 << 30
# Threads that all sleep for so long, in tests which never sleep, are locked.
STALL_S = 5


def say(text):
    print(time.strftime("%T ") + text, flush=True)


def die(text):
    sys.exit("mutation: " + text)


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


class Processes:
    """What runs now, each the leader of a session of its own, so that it can
    be ended together with all that it has started."""

    def __init__(self):
        self.lock = threading.RLock()
        self.running = set()
        self.stopped = False

    def start(self, command, **options):
        with self.lock:
            if self.stopped:
                raise SystemExit(1)
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                       start_new_session=True, **options)
            self.running.add(process)
        return process

    def end(self, process):
        """Ends what of it still runs."""
        self._kill(process)
        process.wait()
        with self.lock:
            self.running.discard(process)

    def call(self, command, **options):
        process = self.start(command, **options)
        try:
            return process.wait()
        finally:
            self.end(process)

    def stop(self):
        with self.lock:
            self.stopped = True
            for process in self.running:
                self._kill(process)

    @staticmethod
    def _kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


processes = Processes()


def lines_of(name):
    for line in read(os.path.join(HERE, name)).splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


# ---- builds ---------------------------------------------------------------


class Build:
    """A configured and built copy of the tree."""

    def __init__(self, source, name, options, targets, jobs):
        self.source = source
        self.path = os.path.join(source, "build", name)
        started = time.monotonic()
        log = os.path.join(source, "build-%s.log" % name)
        with open(log, "w", encoding="utf-8") as out:
            for command in (
                    ["cmake", "-S", source, "-B", self.path,
                     "-G", "Unix Makefiles"] + options,
                    ["cmake", "--build", self.path, "-j", str(jobs),
                     "--target"] + targets):
                if processes.call(command, stdout=out, stderr=out) != 0:
                    out.flush()
                    with open(log, encoding="utf-8") as text:
                        sys.stderr.write(text.read()[-4000:])
                    die("the build %s failed" % name)
        with open(os.path.join(self.path, "compile_commands.json"),
                  encoding="utf-8") as f:
            self.commands = {os.path.relpath(c["file"], source): c
                             for c in json.load(f)}
        say("built %s in %d s" % (name, time.monotonic() - started))

    def compile(self, path, text, work):
        """The object of a source with this text: its path, or None.  The
        name is the source's own, so that nothing of it differs."""
        command = self.commands[path]
        folder = os.path.join(work, os.path.dirname(path))
        os.makedirs(folder, exist_ok=True)
        changed = os.path.join(work, path)
        with open(changed, "w", encoding="ascii") as f:
            f.write(text)
        words = shlex.split(command["command"])
        words = words[:words.index("-o")] + C_FLAGS * path.endswith(".c") + \
            ["-g0", "-frandom-seed=folb", "-ffile-prefix-map=%s=." % work,
             "-I", os.path.join(self.source, os.path.dirname(path)),
             "-o", changed + ".o", "-c", changed]
        status = processes.call(words, cwd=command["directory"],
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        return changed + ".o" if status == 0 else None

    def link(self, target_folder, target, path, obj, output):
        """The target with this object in the place of the one of path."""
        folder = os.path.join(self.path, target_folder)
        words = shlex.split(read(os.path.join(
            folder, "CMakeFiles", target + ".dir", "link.txt")))
        words[words.index("-o") + 1] = output
        ours = [i for i, word in enumerate(words)
                if word.endswith("/" + os.path.basename(path) + ".o")]
        if ours:
            words[ours[0]] = obj
        else:
            # What is defined before an archive is not taken out of it.
            first = next(i for i, word in enumerate(words)
                         if word.endswith(".o"))
            words.insert(first, obj)
        os.makedirs(os.path.dirname(output), exist_ok=True)
        log = output + ".log"
        with open(log, "wb") as out:
            status = processes.call(words, cwd=folder, stdout=out, stderr=out)
        if status != 0:
            with open(log, encoding="utf-8", errors="replace") as f:
                raise RuntimeError("%s does not link: %s" %
                                   (path, f.read()[-2000:]))


# ---- runs -----------------------------------------------------------------


def limits(memory):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return limit


def is_stalled(pid):
    """All its threads sleep."""
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, task),
                      encoding="utf-8") as f:
                if f.read().rsplit(")", 1)[1].split()[0] not in "SD":
                    return False
    except OSError:
        return False
    return True


def cpu_of(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return int(words[11]) + int(words[12])
    except OSError:
        return -1


def run(command, work, bound, environment=None, memory=True, stalls=True):
    """None when it succeeded, else why it did not.  bound: seconds of the
    clock, and of the processor if it is all in one process."""
    os.makedirs(work, exist_ok=True)
    env = dict(os.environ, TMPDIR=work, **(environment or {}))
    log = os.path.join(work, "output")
    with open(log, "wb") as out:
        process = processes.start(command, cwd=work, env=env, stdout=out,
                                  stderr=subprocess.STDOUT,
                                  preexec_fn=limits(memory))
    end = time.monotonic() + bound[0]
    slept_since, cpu = None, -1
    why = None
    while True:
        try:
            process.wait(0.2)
            break
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        if stalls:
            used = cpu_of(process.pid)
            if used != cpu or not is_stalled(process.pid):
                slept_since, cpu = now, used
            elif now - slept_since > STALL_S:
                why = "locked"
            if used > bound[1] * os.sysconf("SC_CLK_TCK"):
                why = "no end"
        if now > end:
            why = "no end"
        if why is not None:
            break
    processes.end(process)
    if why is None and process.returncode != 0:
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        told = re.search(r"^\[  FAILED  \] ([^ ,\n]+)", text, re.MULTILINE) or \
            re.search(r"(ThreadSanitizer: [^(\n]+|AddressSanitizer: [\w-]+|"
                      r"runtime error: [^\n]+)", text)
        why = told.group(1).strip() if told \
            else "status %d" % process.returncode
    return why


def selects(tests, name):
    """Whether this filter of gtest selects the test."""
    wanted, _, unwanted = tests.partition("-")
    return any(fnmatch.fnmatchcase(name, p)
               for p in (wanted or "*").split(":")) and \
        not any(fnmatch.fnmatchcase(name, p) for p in unwanted.split(":"))


class Filters:
    """Which suites are run first for a source, and which last."""

    def __init__(self):
        self.first = {}
        for line in lines_of("filters.txt"):
            words = line.split()
            self.first[words[0]] = dict(w.split(":", 1) for w in words[1:])

    def of(self, path, stage):
        """Filters of gtest, in the order of the runs: all tests once."""
        first = self.first.get(path, {}).get(stage)
        last = self.first.get("last", {}).get(stage)
        runs = [first] if first else []
        others = ":".join(f for f in (first, last) if f)
        runs.append("*-" + others if others else "*")
        if last:
            runs.append(last + ("-" + first if first else ""))
        return runs


class Stage:
    """A test program, and what is to be linked to try a mutant."""

    def __init__(self, name, build, folder, target, program, **options):
        self.name = name
        self.build = build
        self.folder = folder
        self.target = target
        self.program = program
        self.plugin = options.get("plugin", False)
        self.only = options.get("only")
        self.environment = options.get("environment", {})
        self.memory = options.get("memory", True)
        self.took = {}
        self.recompiles = options.get("recompiles", False)

    def command(self, program, tests, brief="1"):
        return [program, "--gtest_fail_fast", "--gtest_brief=" + brief,
                "--gtest_filter=" + tests]

    def calibrate(self, work):
        """How long the tests take, which must succeed as they are."""
        started = time.monotonic()
        why = run(self.command(self.program, self.only or "*", "0"), work,
                  (7200, 7200), self.environment, self.memory,
                  stalls=not self.plugin)
        if why is not None:
            die("%s: the tests fail without any change: %s" %
                (self.name, why))
        with open(os.path.join(work, "output"), encoding="utf-8",
                  errors="replace") as f:
            self.took = {name: int(ms) / 1000.0 for name, ms in re.findall(
                r"^\[ +OK \] (\S+?),? .*\(([0-9]+) ms\)$", f.read(),
                re.MULTILINE)}
        say("%s: %d tests, %.1f s without any change" %
            (self.name, len(self.took), time.monotonic() - started))

    def bound(self, tests):
        """Seconds of the clock and of the processor for the tests of a
        filter: a loaded machine may give each run much less of its time."""
        took = sum(seconds for name, seconds in self.took.items()
                   if selects(tests, name))
        # Threads that wait for each other use the processor meanwhile.
        return 60 + (5 if self.plugin else 20) * took, \
            5 + (20 if self.recompiles else 5) * took

    def try_out(self, mutant, obj, text, filters, work):
        """Why the mutant died, or None."""
        if self.recompiles:
            obj = self.build.compile(mutant.path, text, work)
            if obj is None:
                return None
        output = os.path.join(
            work, os.path.basename(self.program) if not self.plugin
            else "libomnifolb4.so")
        self.build.link(self.folder, self.target, mutant.path, obj, output)
        program, environment = output, dict(self.environment)
        if self.plugin:
            program = self.program
            environment["FOLB_TEST_PLUGIN"] = output
        for tests in [self.only] if self.only else \
                filters.of(mutant.path, self.name):
            why = run(self.command(program, tests), work, self.bound(tests),
                      environment, self.memory, stalls=not self.plugin)
            if why is not None:
                return why
        return None


# ---- the mutants of one group -----------------------------------------------


class Group:
    """The engine's sources, or the shim's."""

    def __init__(self, name, pattern, only, source):
        self.name = name
        self.source = source
        folder, ending = pattern
        self.texts = {}
        for file in sorted(os.listdir(os.path.join(source, folder))):
            path = folder + "/" + file
            if file.endswith(ending) and path.startswith(only or ""):
                self.texts[path] = read(os.path.join(source, path))
        self.originals = {}
        self.lock = threading.Lock()

    def drawn(self, seed):
        """All of them, in the order of the seed: a kind, then one of it, so
        that a rare kind is tried as often as the others."""
        kinds = {kind: [] for kind in mutants.KINDS}
        for path in sorted(self.texts):
            for mutant in mutants.Source(path, self.texts[path]).mutants():
                kinds[mutant.kind].append(mutant)
        draw = random.Random("%s %s" % (self.name, seed))
        for kind in mutants.KINDS:
            draw.shuffle(kinds[kind])
        while any(kinds.values()):
            kind = draw.choice([k for k in mutants.KINDS if kinds[k]])
            yield kinds[kind].pop()

    def original(self, build, path, work):
        with self.lock:
            known = self.originals.get(path)
        if known is None:
            obj = build.compile(path, self.texts[path], work)
            if obj is None:
                die("%s does not compile as it is" % path)
            known = digest(obj)
            with self.lock:
                self.originals[path] = known
        return known

    def counted(self, build, number, seed, jobs, work):
        """The first mutants that compile to something else."""
        chosen = []
        seen = set()
        broken = same = 0
        source = self.drawn(seed)

        def make(item):
            index, mutant = item
            place = os.path.join(work, "m%d" % index)
            original = self.original(build, mutant.path, place + "o")
            obj = build.compile(mutant.path,
                                mutant.apply(self.texts[mutant.path]), place)
            return mutant, obj, obj and digest(obj), original

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            index = 0
            while len(chosen) < number:
                batch = []
                for mutant in source:
                    batch.append((index, mutant))
                    index += 1
                    if len(batch) == 4 * jobs:
                        break
                if not batch:
                    break
                for mutant, obj, made, original in pool.map(make, batch):
                    if obj is None:
                        broken += 1
                    elif made == original or (mutant.path, made) in seen:
                        same += 1
                    elif len(chosen) < number:
                        seen.add((mutant.path, made))
                        chosen.append((mutant, obj))
        say("%s: %d mutants; not counted: %d do not compile, %d are the "
            "same object" % (self.name, len(chosen), broken, same))
        return chosen


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def argued():
    """key -> reason."""
    known = {}
    reason = ""
    for line in lines_of("equivalent.txt"):
        if line.startswith("  "):
            known[" ".join(line.split())] = reason
        else:
            reason = line.strip()
    return known


def try_group(group, build, stages, number, seed, jobs, work):
    """One stage after the other: what the first does not see is known early,
    and the next is built only if there is any."""
    chosen = group.counted(build, number, seed, jobs, work)
    known = argued()
    filters = Filters()
    equal = [m for m, _ in chosen if m.key() in known]
    left = [(i, m, obj) for i, (m, obj) in enumerate(chosen)
            if m.key() not in known]
    died = {}

    def test(stage, index, mutant, obj):
        place = os.path.join(work, "t%d" % index)
        text = mutant.apply(group.texts[mutant.path])
        try:
            return stage.try_out(mutant, obj, text, filters, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    for lazy in stages:
        if not left:
            break
        stage = lazy()
        alive = []
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            tried = {pool.submit(test, stage, *item): item for item in left}
            for future in concurrent.futures.as_completed(tried):
                item = tried[future]
                why = future.result()
                if why is None:
                    alive.append(item)
                else:
                    died[stage.name] = died.get(stage.name, 0) + 1
                say("%s %s" % ("%s sees nothing of" % stage.name
                               if why is None else
                               "killed by %s (%s)" % (stage.name, why),
                               item[1].where()))
        left = sorted(alive, key=lambda item: item[0])
    return len(chosen), died, [m for _, m, _ in left], equal


def report(name, total, died, survived, equal):
    killed = sum(died.values())
    print("%s: %d of %d killed = %.1f %% (%s); %d survived, %d equivalent" %
          (name, killed, total - len(equal),
           100.0 * killed / max(1, total - len(equal)),
           ", ".join("%s %d" % item for item in died.items()) or "none",
           len(survived), len(equal)))
    for mutant in survived:
        print("  " + mutant.where())


# ---- what is built, when it is first needed -----------------------------------


class Lazy:
    def __init__(self, make):
        self.make = make
        self.lock = threading.Lock()
        self.made = None

    def __call__(self):
        with self.lock:
            if self.made is None:
                self.made = self.make()
            return self.made


def options_of(cflags, cxxflags, *more):
    return ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=" + cflags,
            "-DCMAKE_CXX_FLAGS=" + cxxflags, "-DFOLB_BENCH=OFF",
            "-DFOLB_LTO=OFF", *more]


class Builds:
    def __init__(self, source, jobs):
        self.source = source
        self.jobs = jobs
        self.engine = Lazy(lambda: Build(
            source, "engine", options_of("-O2 -g0", "-O0 -g0",
                                         "-DFOLB_SHIM=OFF"),
            ["folb_unit_tests"], jobs))
        self.plugin = Lazy(lambda: Build(
            source, "plugin", options_of("-O2 -g0", "-O1 -g0"),
            ["omnifolb4", "folb_system_tests"], jobs))
        self.unit = Lazy(lambda: self._unit("unit", self.engine(), "*"))
        self.tsan = Lazy(lambda: self._sanitized(
            "tsan", "thread", "*Threads*",
            {"TSAN_OPTIONS": "halt_on_error=1:hard_rss_limit_mb=4096"}))
        self.asan = Lazy(lambda: self._sanitized(
            "asan", "address,undefined", "-*Threads*",
            {"ASAN_OPTIONS": "hard_rss_limit_mb=4096:"
                             "detect_stack_use_after_return=1"}))
        self.system = Lazy(self._system)

    def _unit(self, name, build, tests, **options):
        stage = Stage(name, build, "test/unit", "folb_unit_tests",
                      os.path.join(build.path, "bin", "folb_unit_tests"),
                      only=None if tests == "*" else tests, **options)
        stage.calibrate(os.path.join(self.source, "scratch-" + name))
        return stage

    def _sanitized(self, name, sanitizers, tests, environment):
        build = Build(self.source, name, options_of(
            "-O1 -g0", "-O0 -g0", "-DFOLB_SHIM=OFF",
            "-DFOLB_SANITIZE=" + sanitizers), ["folb_unit_tests"], self.jobs)
        return self._unit(name, build, tests, environment=environment,
                          memory=False, recompiles=True)

    def _system(self):
        build = self.plugin()
        stage = Stage("system", build, "shim", "omnifolb4",
                      os.path.join(build.path, "bin", "folb_system_tests"),
                      plugin=True, memory=False)
        stage.calibrate(os.path.join(self.source, "scratch-system"))
        return stage


def copy_tree(to):
    """What is there and the same is left alone, so that it is not built
    again."""
    wanted = set()
    for name in COPIED:
        for folder, _, files in os.walk(name) if os.path.isdir(name) \
                else [(".", [], [name])]:
            os.makedirs(os.path.join(to, folder), exist_ok=True)
            for file in files:
                path = os.path.normpath(os.path.join(folder, file))
                wanted.add(path)
                copy = os.path.join(to, path)
                if not os.path.exists(copy) or \
                        not filecmp.cmp(path, copy, shallow=False):
                    shutil.copy(path, copy)
    for name in COPIED:
        for folder, _, files in os.walk(os.path.join(to, name)):
            for file in files:
                copy = os.path.join(folder, file)
                if os.path.relpath(copy, to) not in wanted:
                    os.remove(copy)


def main():
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("--engine", action="store_true",
                        help="not the shim")
    parser.add_argument("--shim", action="store_true", help="not the engine")
    parser.add_argument("--unit-only", action="store_true",
                        help="no system tests for the engine")
    parser.add_argument("--jobs", type=int, default=2, metavar="N",
                        help="tests at a time")
    parser.add_argument("--only", metavar="PREFIX",
                        help="sources whose path begins so")
    parser.add_argument("--work", metavar="DIR",
                        help="builds here, and again there the next time")
    parser.add_argument("number", nargs="?", type=int, default=10)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    a = parser.parse_args()
    both = a.engine == a.shim

    # Threads that wait for a process go on when it is gone, and start none.
    def stop(number, _):
        processes.stop()
        sys.exit(128 + number)

    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, stop)
    work = a.work or tempfile.mkdtemp(prefix="folb-mutation-")
    try:
        source = os.path.join(work, "tree")
        copy_tree(source)
        builds = Builds(source, a.jobs)
        done = []
        if a.engine or both:
            stages = [builds.unit, builds.tsan, builds.asan]
            if not a.unit_only:
                stages.append(builds.system)
            done.append(("engine", try_group(
                Group("engine", ("plugin", ".c"), a.only, source),
                builds.engine(), stages, a.number, a.seed, a.jobs,
                os.path.join(work, "engine"))))
        if a.shim or both:
            done.append(("shim", try_group(
                Group("shim", ("shim", ".cc"), a.only, source),
                builds.plugin(), [builds.system], a.number, a.seed, a.jobs,
                os.path.join(work, "shim"))))
        for name, figures in done:
            report(name, *figures)
    finally:
        if not a.work:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

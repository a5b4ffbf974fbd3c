"""Speed, as ratios of medians measured side by side in one run: python benchmarks/ratios.py.

Machines differ and are noisy; ratios within one run are what can be compared. Everything is timed
several times in turn, and medians are set beside each other. Seconds
are those of the processor, which other programs disturb least; only where two workers are compared
with one they are those of the clock. `growth.py` draws how time grows.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from literal import literal_2, literal_3

import exactregion as er
from exactregion.data.files import write_whole
from exactregion.paper import setting

HERE = Path(__file__).parent
RESULTS = HERE / "results"
REPEATS = 5
GRID = 100
TOLD = []


def processor_time():
    """Seconds of the processor that this process and those it waited for have taken."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(*functions, repeats=REPEATS):
    """Median seconds of each, run in turn so that a busy moment hits all alike.

    The order changes from turn to turn: memory that one of them leaves behind spares the next one
    time.
    """
    seconds = [[] for _ in functions]
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        for which in rng.permutation(len(functions)):
            begun = processor_time()
            functions[which]()
            seconds[which].append(processor_time() - begun)
    return [median(runs) for runs in seconds]


def tell(what, ratio, goal=""):
    TOLD.append({"what": what, "ratio": ratio, "goal": goal})
    print(f"{what:<66} {ratio:>12,.2f}  {goal}", flush=True)


# --- the paper's setting ------------------------------------------------------------------------


def paper():
    """n = 500, a 100 × 100 grid, m = 50 and 1,000."""
    data = setting.draw_data(0)
    axes = [np.linspace(*ends, GRID) for ends in setting.BOX]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    theta, other_order = grid.reshape(-1, 2), grid.transpose(1, 0, 2).reshape(-1, 2)
    statistics = setting.compared_statistics(len(data.x))
    regions = {key: setting.fit_region(statistic, data) for key, statistic in statistics.items()}
    many = setting.fit_region(statistics["III_gaussian"], data, n_resamples=999)
    model = regions["score"].model_
    for region in (*regions.values(), many):
        region.rank(theta[:100])
    evaluation, other_evaluation, other, in_parts, thousand, *ranked = timed(
        lambda: model.probabilities(theta, data.x),
        lambda: model.probabilities(other_order, data.x),
        lambda: regions["III_gaussian"].rank(other_order),
        lambda: [model.probabilities(part, data.x) for part in np.split(theta, GRID)],
        lambda: many.rank(theta),
        *(lambda region=region: region.rank(theta) for region in regions.values()),
        repeats=9,
    )
    seconds = dict(zip(regions, ranked, strict=True))
    third = seconds["III_gaussian"]
    tell("III: region.rank(grid) / the model's own evaluation", third / evaluation, "<= 1")
    tell(
        "III with the first parameter innermost / the model's own evaluation",
        other / other_evaluation,
        "<= 1",
    )
    tell("III / the model's evaluation in parts that stay in the cache", third / in_parts)
    tell("II / III", seconds["II_gaussian"] / third, "<= 1.3")
    tell("I (nearest neighbours) / III", seconds["I_knn"] / third, "<= 3")
    tell("I (Gaussian) / III", seconds["I_gaussian"] / third)
    tell("score / III", seconds["score"] / third)
    tell("combined / III", seconds["combined"] / third)
    tell("III: m = 1,000 / m = 50", thousand / third, "<= 6")
    literal(regions["III_gaussian"], data, theta, (third, other, seconds["II_gaussian"]))
    monte_carlo(regions["III_gaussian"], data, third)
    parts(regions["III_gaussian"], third)


def literal(region, data, theta, seconds):
    """A few θ by the formulas as they stand, scaled to the grid."""
    third, other, second = seconds
    few = [region.evaluate(at) for at in theta[:: len(theta) // 3][:3]]
    m = len(few[0].labels)
    pairs = [(0, 1), (3, 7)]
    slow_3, slow_2 = timed(
        lambda: [literal_3(data.x, ev.labels, ev.probabilities, setting.BANDWIDTH) for ev in few],
        lambda: literal_2(data.x, few[0].labels, setting.BANDWIDTH, pairs),
        repeats=3,
    )
    literally = slow_3 / len(few) * len(theta)
    tell("literal III / III", literally / third, ">= 200")
    tell("literal III / III with the first parameter innermost", literally / other, ">= 200")
    tell("literal II / II", slow_2 / len(pairs) * m**2 * len(theta) / second, ">= 100,000")


def monte_carlo(region, data, third):
    """scipy's Monte Carlo test with the same statistic, one θ after the other."""
    from scipy.stats import monte_carlo_test

    p = region.evaluate(setting.TRUTH).probabilities
    K = np.exp(-((data.x[:, None] - data.x[None, :]) ** 2) / (2 * setting.BANDWIDTH**2))
    rng = np.random.default_rng(0)

    def draw(size):
        return np.where(rng.random(size) < p, 1.0, -1.0)

    def statistic(labels, axis=-1):
        residuals = labels - (2 * p - 1)
        return ((residuals @ K) * residuals).sum(axis=axis)

    (one,) = timed(
        lambda: monte_carlo_test(
            data.y.astype(float), draw, statistic, n_resamples=49, vectorized=True
        )
    )
    tell("scipy.stats.monte_carlo_test per θ / III per θ", one * GRID**2 / third)


def parts(region, third):
    """What one θ costs in pieces that nobody can avoid when labels are drawn anew each time."""
    m, n = region.fitted_.resampling.m, len(region.fitted_.sample)
    rng = np.random.Generator(np.random.SFC64(0))
    phi = rng.normal(size=(n, region.fitted_.prepared.shared[0].width))
    labels = rng.choice([0.0, 1.0], size=(m, n))
    uniforms, product = timed(
        lambda: [rng.random((m - 1, n)) for _ in range(100)],
        lambda: [labels @ phi for _ in range(100)],
    )
    tell("drawing fresh uniforms per θ / III per θ", uniforms / 100 * GRID**2 / third)
    tell(
        "the matrix product of the batch engine per θ / III per θ", product / 100 * GRID**2 / third
    )


# --- an analysis --------------------------------------------------------------------------------


def analysis():
    """Five parameters, n = 300, m = 1,000: all intervals and a band beside 999 refits."""
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    p = 1 / (1 + np.exp(-(0.3 + X @ [0.8, -0.5, 0.2, 0.0])))
    y = rng.random(300) < p
    design = sm.add_constant(X)

    def ours():
        region = er.ConfidenceRegion("logistic", rng=0).fit(X, y)
        return region.intervals(), region.intervals(joint=True), region.band(X[:20])

    def bootstrap():
        fitted = sm.Logit(y.astype(float), design).fit(disp=0).predict(design)
        for _ in range(999):
            sm.Logit((rng.random(300) < fitted).astype(float), design).fit(disp=0)

    exact, refits = timed(ours, bootstrap, repeats=3)
    tell("fit, both kinds of intervals, band / bootstrap of 999 refits", exact / refits, "<= 1")


# --- many rows ----------------------------------------------------------------------------------

MANY = """
import sys, time
import numpy as np, exactregion as er
n, m = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
p = rng.uniform(size=n)
y = rng.uniform(size=n) < p
warm = np.linspace(0.01, 0.99, 70_000)  # loads what only many rows need
er.calibration_test(warm > 0.5, warm, n_resamples=m - 1, rng=0, n_jobs=2)
generator = np.random.Generator(np.random.SFC64(0))
buffer = np.empty((m - 1, 4096))

def uniforms():
    for start in range(0, n, 4096):
        generator.random(out=buffer)

def test(n_jobs):
    er.calibration_test(y, p, n_resamples=m - 1, rng=0, n_jobs=n_jobs)

def seconds(clock, call, *arguments):
    begun = clock()
    call(*arguments)
    return clock() - begun

for clock, call, *arguments in (
    (time.process_time, test, None),
    (time.process_time, uniforms),
    (time.perf_counter, test, 2),
    (time.perf_counter, uniforms),
):
    print(seconds(clock, call, *arguments))
"""


def many_rows(n):
    """calibration_test beside the uniforms that nobody can avoid drawing, in fresh processes."""
    for m, goal, goal_of_two in ((100, "<= 2.5", "<= 1.6"), (1000, "<= 1.5", "")):
        rows = n if m == 100 else n // 10
        command = [sys.executable, "-c", MANY, str(rows), str(m)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        one, uniforms, two, uniforms_by_clock = map(float, answer.stdout.split())
        what = f"calibration_test / uniforms alone, n = {rows:,}, m = {m:,}"
        tell(what, one / uniforms, goal)
        tell(f"{what}, n_jobs=2, by the clock", two / uniforms_by_clock, goal_of_two)


WRITE = """
import sys
import numpy as np
rng = np.random.default_rng(0)
p = np.memmap(sys.argv[2], dtype=float, mode="w+", shape=int(sys.argv[1]))
y = np.memmap(sys.argv[3], dtype=bool, mode="w+", shape=int(sys.argv[1]))
for start in range(0, len(p), 10**6):
    part = p[start : start + 10**6]
    part[:] = rng.uniform(size=len(part))
    y[start : start + 10**6] = rng.uniform(size=len(part)) < part
"""

READ = """
import sys
import numpy as np, exactregion as er
p, y = np.memmap(sys.argv[1], dtype=float, mode="r"), np.memmap(sys.argv[2], dtype=bool, mode="r")
er.calibration_test(y, p, n_resamples=99, rng=0)
# not getrusage, whose peak a process inherits from the one that started it
lines = open("/proc/self/status").read().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""


def memory(sizes):
    """Peak memory of calibration_test on memory maps, a fresh process for each size."""
    peaks = []
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            files = [f"{folder}/p", f"{folder}/y"]
            subprocess.run([sys.executable, "-c", WRITE, str(n), *files], check=True)
            answer = subprocess.run(
                [sys.executable, "-c", READ, *files], check=True, capture_output=True, text=True
            )
            peaks.append(float(answer.stdout))
    tell(f"peak memory of a stream, n = {sizes[1]:,} / {sizes[0]:,}", peaks[1] / peaks[0], "<= 1.2")
    return dict(zip(sizes, peaks, strict=True))


def started(folder, *words):
    """Return what runs Python with modules compiled before, as those of installed packages are."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run():
        command = [sys.executable, *words]
        subprocess.run(command, check=True, capture_output=True, env=environment)

    run()
    return run


def imports():
    """Start of Python with a package; files are in the disk's cache."""
    with tempfile.TemporaryDirectory() as folder:
        codes = ("import exactregion", "import sklearn")
        ours, theirs = timed(*(started(folder, "-c", code) for code in codes))
    tell("import exactregion / import sklearn", ours / theirs, "<= 1")


def latency():
    """Commands in new processes beside the start of Python with what people load anyway."""
    with tempfile.TemporaryDirectory() as folder:
        predictions, flights = f"{folder}/predictions.csv", f"{folder}/flights.csv"
        er.datasets.pima_predictions().to_csv(predictions, index=False)
        er.datasets.oring().to_csv(flights, index=False)
        command = ("-m", "exactregion")

        def run(*words):
            return started(folder, *words)

        loading, numpy_alone, version, calibrate, fit = timed(
            run("-c", "import sklearn.linear_model, pandas, matplotlib"),
            run("-c", "import numpy"),
            run(*command, "--version"),
            run(*command, "calibrate", predictions, "--outcome", "y", "--probability", "p"),
            run(*command, "fit", flights, "--outcome", "y", "--inputs", "temp"),
            repeats=3,
        )
    tell(
        "exactregion calibrate, 332 rows / imports of common packages", calibrate / loading, "<= 2"
    )
    tell("exactregion fit, 23 rows / imports of common packages", fit / loading, "<= 2")
    tell("exactregion --version / import numpy", version / numpy_alone, "<= 1.5")


def first_call():
    """What compiling costs: a fresh cache against a filled one."""
    code = "import exactregion as er, numpy as np, time\n"
    code += "x = np.linspace(-2, 2, 40); r = er.ConfidenceRegion('logistic', rng=0).fit(x, x > 0)\n"
    code += "t = time.perf_counter(); r.rank(np.zeros((64, 2))); print(time.perf_counter() - t)"
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        seconds = [
            float(
                subprocess.run(
                    [sys.executable, "-c", code],
                    check=True,
                    capture_output=True,
                    text=True,
                    env=environment,
                ).stdout
            )
            for _ in range(2)
        ]
    tell("first ranks of many θ without a compiled cache / with one", seconds[0] / seconds[1])
    return {"without_cache": seconds[0], "with_cache": seconds[1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--largest", type=int, default=10**6, help="rows of the tests of many rows")
    parser.add_argument("--only", choices=["paper", "analysis", "imports", "rows"])
    asked = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    found = {}
    if asked.only in (None, "paper"):
        paper()
    if asked.only in (None, "analysis"):
        analysis()
    if asked.only in (None, "imports"):
        imports()
        latency()
        found["first_call_seconds"] = first_call()
    if asked.only in (None, "rows"):
        many_rows(asked.largest)
        found["stream_peak_kb"] = memory([asked.largest // 10, asked.largest])
    if asked.only is None:
        text = json.dumps({"ratios": TOLD, **found}, indent=1) + "\n"
        write_whole(RESULTS / "ratios.json", lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()

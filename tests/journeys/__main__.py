"""Write the transcripts again; pictures and pages go to the folder that is given."""

import shutil
import sys
from pathlib import Path

from tests.journeys import HERE, performed

target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/journeys")
for transcript in sorted(HERE.glob("*.txt")):
    folder = target / transcript.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    transcript.write_text(performed(transcript, folder), encoding="utf8")
    sys.stdout.write(f"{transcript.name}: {', '.join(sorted(p.name for p in folder.iterdir()))}\n")

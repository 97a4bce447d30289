"""The archive of the chart before this one."""

from pathlib import Path

(CHART,) = Path(__file__).parent.glob("*.tgz")

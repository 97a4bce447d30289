"""bench: how fast each tier answers, against any OpenAI-compatible endpoint or the Pods of a release.

Order of work: settings, places, experiments that fill a Record, summary, verdict, report. Nothing measured is thrown away.
"""

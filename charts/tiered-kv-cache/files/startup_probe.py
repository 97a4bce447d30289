"""The startup probe of vllm: passes once the server has answered a real completion.

/health says only that the server listens; the first completion also needs the weights, the compiled kernels and the cache
that the engine connects to. It runs in the engine's container, so it uses nothing but the standard library.

Usage: startup_probe.py PORT NAME SECONDS: the server's port, the served model, and how long to go on asking. Exit 1 prints
the last answer.
"""

import http.client
import json
import os
import sys
import time

port, name, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
deadline = time.monotonic() + seconds
headers = {"Content-Type": "application/json"}
if os.environ.get("VLLM_API_KEY"):
    headers["Authorization"] = "Bearer " + os.environ["VLLM_API_KEY"]
body = json.dumps({"model": name, "prompt": "1", "max_tokens": 1})
said = "no try"
while (left := deadline - time.monotonic()) > 0:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=left)
    try:
        connection.request("POST", "/v1/completions", body, headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        if answer.status == 200 and json.loads(text).get("choices"):
            sys.exit(0)
        said = f"{answer.status} {text[:500]}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        said = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    # A short wait, so that a Pod is Ready soon after its server is.
    time.sleep(min(1.0, max(0.0, deadline - time.monotonic())))
sys.exit(f"no completion within {seconds:.0f} s; the last answer to POST /v1/completions: {said}")

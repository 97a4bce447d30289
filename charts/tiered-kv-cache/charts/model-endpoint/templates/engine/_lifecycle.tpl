{{- /* How the engine Pod's containers end. Context everywhere: model context. */ -}}

{{- define "model-endpoint.engine.vllmLifecycle" -}}
lifecycle:
  preStop:
    exec:
      command: [sh, -c, {{ printf "touch /dev/shm/engine-ends; sleep %s" (include "model-endpoint.engine.preStopSeconds" .) | quote }}]
{{- end -}}

{{- define "model-endpoint.engine.lmcacheLifecycle" -}}
lifecycle:
  preStop:
    exec:
      # When the Pod ends, outlives the engine: requests in flight still use it. When only this container is restarted
      # (a failed liveness probe), the engine has left no mark and nothing waits.
      command:
        - python3
        - -c
        - |
          import pathlib, socket, time
          time.sleep(2)
          while pathlib.Path("/dev/shm/engine-ends").exists() and socket.socket().connect_ex(("127.0.0.1", 8000)) == 0:
              time.sleep(1)
{{- end -}}

{{- /* Seconds in which requests in flight may end after SIGTERM: the grace period less the preStop wait and 5 s to exit.
       Context: model context. */ -}}
{{- define "model-endpoint.engine.shutdownTimeout" -}}
{{- sub (sub (int64 .spec.terminationGracePeriodSeconds) (include "model-endpoint.engine.preStopSeconds" . | int64)) 5 -}}
{{- end -}}

{{- /* Seconds between leaving the endpoints and SIGTERM, so that the router has forgotten the Pod by then. */ -}}
{{- define "model-endpoint.engine.preStopSeconds" -}}10{{- end -}}

{{- /* The client entry of a model. Context: model context. */ -}}
{{- define "model-endpoint.router.service" -}}
{{- $labels := dict "root" .root "component" "router" "model" .name -}}
{{- $service := .spec.routing.service -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "tkc.model.name" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  type: {{ $service.type }}
  selector:
    {{- include "tkc.labels.selector" $labels | nindent 4 }}
  ports:
    - name: http
      port: {{ int64 $service.port }}
      targetPort: http
      protocol: TCP
      {{- with $service.nodePort }}
      nodePort: {{ int64 . }}
      {{- end }}
{{- end -}}

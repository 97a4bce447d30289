{{- /* Names of the model store's objects, and of mounted buckets. */ -}}

{{- /* Claim of the model store, where it has one. Context: root. */ -}}
{{- define "tkc.modelStore.claimName" -}}
{{- $store := .tkc.values.modelStore -}}
{{- if eq $store.type "existingClaim" }}{{ $store.claimName }}{{ else }}{{ include "tkc.name" (dict "root" . "part" "model-store") }}{{ end -}}
{{- end -}}

{{- /* Claim of a model's mounted bucket. Context: model context. */ -}}
{{- define "tkc.model.bucketClaim" -}}
{{- printf "%s-bucket" (include "tkc.model.name" .) -}}
{{- end -}}

{{- /* "true" if a model is downloaded to the store. Context: root. */ -}}
{{- define "tkc.modelStore.used" -}}
{{- $used := "" -}}
{{- range .tkc.models -}}{{- if include "model-endpoint.engine.fetched" . -}}{{- $used = "true" -}}{{- end -}}{{- end -}}
{{- $used -}}
{{- end -}}

{{- /* Where a mounted bucket's volume lies, as in a PersistentVolume. JSON object. Context: model context. */ -}}
{{- define "tkc.model.bucketSource" -}}
{{- toJson (dict "csi" (dict
      "driver" "s3.csi.aws.com"
      "volumeHandle" (include "tkc.staticVolume.name" (dict "root" .root "claim" (include "tkc.model.bucketClaim" .)))
      "volumeAttributes" (dict "bucketName" .spec.source.s3.bucket))) -}}
{{- end -}}

{{- define "tkc.model.bucketSize" -}}1Gi{{- end -}}

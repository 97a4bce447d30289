{{- /* Rules for the L2 volume. Context: dict root, faults. */ -}}
{{- define "tkc.validate.l2" -}}
{{- $values := .root.tkc.values -}}
{{- $complete := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "l2.enabled" "l2.mountPath" "l2.volume.type" "l2.volume.size")) -}}
{{- if and $complete $values.l2.enabled -}}
{{-   include "tkc.validate.l2Volume" . -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.l2Volume" -}}
{{- $l2 := .root.tkc.values.l2 -}}
{{- $claim := index $l2.volume "claimName" | default "" -}}
{{- $path := index (index $l2.volume "hostPath" | default dict) "path" | default "" -}}
{{- $used := false -}}
{{- range .root.tkc.models -}}
{{-   $result := dict -}}
{{-   include "tkc.at" (dict "from" .spec "path" "cache.l2.enabled" "result" $result) -}}
{{-   if $result.value -}}{{- $used = true -}}{{- end -}}
{{- end -}}
{{- if eq $l2.volume.type "existingClaim" -}}
{{-   if and $used (not $claim) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "l2.volume.claimName" "value" "" "why" "l2.volume.type is existingClaim, and a model uses L2"
            "fix" "name a ReadWriteMany claim of the release's namespace, or set l2.enabled: false") -}}
{{-   end -}}
{{-   if $path -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "l2.volume.hostPath.path" "value" $path "why" "l2.volume.type is existingClaim, so that the path would be ignored"
            "fix" "set l2.volume.type: hostPath, or hostPath.path: \"\"") -}}
{{-   end -}}
{{-   include "tkc.validate.claimName" (dict "faults" .faults "key" "l2.volume.claimName" "claim" $claim) -}}
{{- else if eq $l2.volume.type "curvine" -}}
{{-   range $key, $value := dict "claimName" $claim "hostPath.path" $path -}}
{{-     if $value -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "l2.volume.%s" $key) "value" $value "why" "l2.volume.type is curvine, so that it would be ignored" "fix" "leave it empty, or choose another type") -}}
{{-     end -}}
{{-   end -}}
{{- else -}}
{{-   if and $used (not $path) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "l2.volume.hostPath.path" "value" "" "why" "l2.volume.type is hostPath, and a model uses L2"
            "fix" "name a directory that holds the same content on each node") -}}
{{-   end -}}
{{-   if $claim -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "l2.volume.claimName" "value" $claim "why" "l2.volume.type is hostPath, so that the claim would be ignored"
            "fix" "set l2.volume.type: existingClaim, or claimName: \"\"") -}}
{{-   end -}}
{{-   if and $path (not (include "tkc.validate.cleanPath" $path)) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "l2.volume.hostPath.path" "value" $path "why" "not an absolute path without ., .. and empty parts" "fix" "write it like /srv/kv-l2") -}}
{{-   end -}}
{{- end -}}
{{- if not (include "tkc.validate.cleanPath" $l2.mountPath) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "l2.mountPath" "value" $l2.mountPath "why" "not an absolute path without ., .. and empty parts" "fix" "write it like /mnt/kv-l2") -}}
{{- else if or (include "tkc.validate.mounted" $l2.mountPath) (regexMatch "^/(((bin|boot|dev|etc|lib|lib32|lib64|libx32|models|opt|proc|root|run|sbin|sys|usr|var/run|vllm-workspace)(/.*)?)|home|var|var/lib)$" $l2.mountPath) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "l2.mountPath" "value" $l2.mountPath "why" "the Pods need that directory for something else" "fix" "choose one such as /mnt/kv-l2") -}}
{{- end -}}
{{- if not (include "tkc.quantity.size" $l2.volume.size) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "l2.volume.size" "value" $l2.volume.size "why" "not a whole number of bytes above 0" "fix" "write digits and a unit, for example 100Gi") -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict faults, key, claim (may be empty). */ -}}
{{- define "tkc.validate.claimName" -}}
{{- if and .claim (not (include "tkc.validate.subdomain" .claim)) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .claim "why" "no claim can have this name" "fix" "choose one of: kubectl get pvc") -}}
{{- end -}}
{{- end -}}

{{- /* "true" for a name that most objects may have. Context: text. */ -}}
{{- define "tkc.validate.subdomain" -}}
{{- if and (le (len .) 253) (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" .) }}true{{ end -}}
{{- end -}}

{{- /* "true" if a path is one at which the chart mounts something into engines, routers or hooks, or lies inside or above one.
       Context: clean path. */ -}}
{{- define "tkc.validate.mounted" -}}
{{- range list "/tmp" "/dev/shm" "/run/tkc" "/models" "/model-store" "/opt/tiered-kv-cache" "/etc/tiered-kv-cache" -}}
{{- include "tkc.validate.overlap" (list $ .) -}}
{{- end -}}
{{- end -}}

{{- /* "true" if of two clean paths one is the other or lies inside it. Context: list of both. */ -}}
{{- define "tkc.validate.overlap" -}}
{{- $one := printf "%s/" (first .) -}}
{{- $other := printf "%s/" (last .) -}}
{{- if or (hasPrefix $one $other) (hasPrefix $other $one) }}true{{ end -}}
{{- end -}}

{{- /* "true" for an absolute path of plain parts; such a path means the same to kubelet, engine and hooks. */ -}}
{{- define "tkc.validate.cleanPath" -}}
{{- if and (regexMatch "^(/[A-Za-z0-9._-]+)+$" .) (not (regexMatch "/\\.\\.?(/|$)" .)) }}true{{ end -}}
{{- end -}}

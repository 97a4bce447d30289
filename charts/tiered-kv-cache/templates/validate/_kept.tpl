{{- /* What Kubernetes changes in no volume, claim or StatefulSet that is there: an upgrade would end half way, and GitOps would try for ever.
       Only where an API server answers (_live.tpl); each look-up refuses and does nothing else. */ -}}

{{- /* A claim that this chart makes, against the one that is there. Context: dict root, faults, key (of the size), type (key that chooses the
       class), claim, class, size, recipe (how to get there). */ -}}
{{- define "tkc.validate.keptClaim" -}}
{{- $found := lookup "v1" "PersistentVolumeClaim" .root.Release.Namespace .claim | default dict -}}
{{- $spec := get $found "spec" | default dict -}}
{{- if and $spec (not (dig "metadata" "deletionTimestamp" "" $found)) -}}
{{-   $class := get $spec "storageClassName" | default "" -}}
{{-   if ne $class .class -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" .type "value" .value "why" (printf "claim %s is of class %q, and these values make it of class %q; Kubernetes changes the class of no claim" .claim $class .class) "fix" .recipe) -}}
{{-   end -}}
{{-   $there := dig "resources" "requests" "storage" "" $spec -}}
{{-   if and $there (include "tkc.quantity.valid" $there) (include "tkc.quantity.valid" .size) -}}
{{-     if ne (include "tkc.quantity.bytes" $there) (include "tkc.quantity.bytes" .size) -}}
{{-       include "tkc.fault" (dict "faults" .faults "key" .key "value" .size "why" (printf "claim %s was made with %s; Kubernetes changes the size of no such claim" .claim $there)
              "fix" (printf "set it to %s: the size holds nobody back, l2.keeper.quota and ttl do. Or %s" $there .recipe)) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* How to get other claims and volumes. Context: dict root, claim, volume (absent: the driver's own). */ -}}
{{- define "tkc.validate.keptRecipe" -}}
{{- $namespace := .root.Release.Namespace -}}
{{- printf "make it anew, the Pods end meanwhile: helm uninstall %s -n %s; kubectl delete pvc %s -n %s --ignore-not-found%s; then install with these values" .root.Release.Name $namespace .claim $namespace
      (ternary (printf "; kubectl delete pv %s --ignore-not-found (the data stay where they are)" (index . "volume")) " (its blocks go with it)" (hasKey . "volume")) -}}
{{- end -}}

{{- /* A volume of this chart and its claim (tkc.staticVolume), against those that are there. Context: dict root, faults, key (of the place), size (key of
       the size), type, value (of type), claim, bytes (the size), source. */ -}}
{{- define "tkc.validate.keptVolume" -}}
{{- $name := include "tkc.staticVolume.name" . -}}
{{- $recipe := include "tkc.validate.keptRecipe" (dict "root" .root "claim" .claim "volume" $name) -}}
{{- include "tkc.validate.keptClaim" (dict "root" .root "faults" .faults "key" .size "type" .type "value" .value "claim" .claim "class" "" "size" .bytes "recipe" $recipe) -}}
{{- $spec := get (lookup "v1" "PersistentVolume" "" $name | default dict) "spec" | default dict -}}
{{- range $kind, $wanted := .source -}}
{{-   $there := get $spec $kind -}}
{{-   $differs := and (not (empty $spec)) (empty $there) -}}
{{-   range $field, $value := $wanted -}}
{{-     if and $there (ne (toJson $value) (toJson (get $there $field))) -}}{{- $differs = true -}}{{- end -}}
{{-   end -}}
{{-   if $differs -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $.key "value" $wanted "why" (printf "volume %s lies at %s; Kubernetes moves no volume" $name (toJson (pick $spec "hostPath" "csi" "nfs" "local"))) "fix" $recipe) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Masters of a pool: the claims of a StatefulSet are settled when it is made. Context: dict root, faults, set (what is there). */ -}}
{{- define "tkc.validate.keptMasters" -}}
{{- $storage := .root.tkc.values.curvine.masters.storage -}}
{{- range dig "spec" "volumeClaimTemplates" list .set -}}
{{-   if eq (dig "metadata" "name" "" .) "data" -}}
{{-     $fix := "set it back; for other volumes begin with an empty pool: uninstall, and follow \"To begin empty\" in docs/pool.md" -}}
{{-     $class := dig "spec" "storageClassName" "" . -}}
{{-     if ne $class ($storage.storageClass | default "") -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" "curvine.masters.storage.storageClass" "value" $storage.storageClass "why" (printf "the masters' claims were made with class %q (empty: the cluster's default of that day); Kubernetes changes it in no StatefulSet" $class) "fix" $fix) -}}
{{-     end -}}
{{-     $there := dig "spec" "resources" "requests" "storage" "" . -}}
{{-     if and $there (include "tkc.quantity.valid" $there) (include "tkc.quantity.valid" $storage.size) -}}
{{-       if ne (include "tkc.quantity.bytes" $there) (include "tkc.quantity.bytes" $storage.size) -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" "curvine.masters.storage.size" "value" $storage.size "why" (printf "the masters' claims were made with %s; Kubernetes changes it in no StatefulSet" $there) "fix" $fix) -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Claims that must exist before anything is created. Only where the API server answers: each namespace of a live
       cluster has the ServiceAccount "default", and `helm template` finds nothing at all. Context: dict root, faults. */ -}}
{{- define "tkc.validate.live" -}}
{{- $root := .root -}}
{{- if lookup "v1" "ServiceAccount" $root.Release.Namespace "default" -}}
{{-   include "tkc.validate.lifecycleLive" . -}}
{{-   include "tkc.validate.operatorLive" . -}}
{{-   include "tkc.validate.curvineLive" . -}}
{{-   include "tkc.validate.observabilityLive" . -}}
{{-   $l2 := index $root.tkc.values "l2" | default dict -}}
{{-   $volume := index $l2 "volume" | default dict -}}
{{-   if and $root.tkc.models (index $l2 "enabled") (eq (index $volume "type" | default "") "existingClaim") -}}
{{-     with index $volume "claimName" -}}
{{-       include "tkc.validate.claim" (dict "root" $root "faults" $.faults "key" "l2.volume.claimName" "claim" . "mode" "ReadWriteMany") -}}
{{-     end -}}
{{-   else if and $root.tkc.models (index $l2 "enabled") (has (index $volume "type" | default "") (list "hostPath" "curvine")) -}}
{{-     $claim := include "tkc.l2.claimName" $root -}}
{{-     if dig "metadata" "deletionTimestamp" "" (lookup "v1" "PersistentVolumeClaim" $root.Release.Namespace $claim) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" "l2.volume.type" "value" $volume.type "why" (printf "claim %s of an earlier release is still being deleted, and would take the new Pods' volume with it" $claim)
              "fix" (printf "wait for it, then run this again: kubectl wait --for=delete pvc/%s -n %s --timeout=180s" $claim $root.Release.Namespace)) -}}
{{-     end -}}
{{-     include "tkc.validate.staticVolume" (dict "root" $root "faults" $.faults "key" "l2.volume.type" "value" $volume.type "claim" $claim) -}}
{{-   end -}}
{{-   include "tkc.validate.keptL2" . -}}
{{-   range $root.tkc.models -}}
{{-     $result := dict -}}
{{-     include "tkc.at" (dict "from" .spec "path" "source.claim.name" "result" $result) -}}
{{-     if $result.value -}}
{{-       include "tkc.validate.claim" (dict "root" $root "faults" $.faults "key" (printf "models.%s.source.claim.name" .name) "claim" $result.value) -}}
{{-     end -}}
{{-   end -}}
{{-   include "tkc.validate.sourceLive" . -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict root, faults, key, claim, mode (optional access mode that it must have). */ -}}
{{- define "tkc.validate.claim" -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $found := lookup "v1" "PersistentVolumeClaim" $namespace .claim -}}
{{- if not $found -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .claim "why" (printf "namespace %s has no PersistentVolumeClaim of this name" $namespace)
          "fix" (printf "create it first, or name another one (kubectl get pvc -n %s lists them)" $namespace)) -}}
{{- else if dig "metadata" "deletionTimestamp" "" $found -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .claim "why" "the claim is being deleted; new Pods could not use it"
          "fix" (printf "choose one that stays: kubectl get pvc -n %s" $namespace)) -}}
{{- else if and .mode (not (has .mode (dig "spec" "accessModes" list $found))) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .claim "why" (printf "the claim's access modes are %s; Pods on several nodes write to it" (dig "spec" "accessModes" list $found | join ", "))
          "fix" (printf "use a claim with access mode %s" .mode)) -}}
{{- end -}}
{{- end -}}

{{- /* A volume whose claim went without it: its namespace was deleted, say. Kubernetes binds it to no other claim, and Pods
       would wait for ever. Context: dict root, faults, key, value, claim. */ -}}
{{- define "tkc.validate.staticVolume" -}}
{{- $name := include "tkc.staticVolume.name" . -}}
{{- $found := lookup "v1" "PersistentVolume" "" $name -}}
{{- if eq (dig "status" "phase" "" ($found | default dict)) "Released" -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .value
          "why" (printf "volume %s is left of an earlier release whose claim is gone; Kubernetes binds it to no new claim" $name)
          "fix" (printf "remove it, the data stay where they are, then run this again: kubectl delete pv %s" $name)) -}}
{{- end -}}
{{- end -}}

{{- /* The claim and volume of L2 that are there. Context: dict root, faults. */ -}}
{{- define "tkc.validate.keptL2" -}}
{{- $root := .root -}}
{{- if dig "l2" "enabled" false $root.tkc.values -}}
{{-   $volume := $root.tkc.values.l2.volume -}}
{{-   $path := include "tkc.l2.nodePath" $root -}}
{{-   $claim := include "tkc.l2.claimName" $root -}}
{{-   $common := dict "root" $root "faults" .faults "size" "l2.volume.size" "type" "l2.volume.type" "value" $volume.type "claim" $claim "bytes" (index $volume "size") -}}
{{-   if $path -}}
{{-     $key := ternary "l2.volume.hostPath.path" "curvine.client.directory" (eq $volume.type "hostPath") -}}
{{-     include "tkc.validate.keptVolume" (merge (dict "key" $key "source" (include "tkc.staticVolume.directory" $path | fromJson)) $common) -}}
{{-   else if and (include "curvine.csi" $root) (index $root.tkc.values "lineOfBusiness") -}}
{{-     include "tkc.validate.keptClaim" (merge (dict "key" "l2.volume.size" "type" "curvine.client.mode" "value" "csi" "class" (include "curvine.csi.className" $root) "size" (index $volume "size")
            "recipe" (include "tkc.validate.keptRecipe" (dict "root" $root "claim" $claim))) (omit $common "type" "value" "size")) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

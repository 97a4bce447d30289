{{- /* Rules for the keeper of the L2 volume. Context: dict root, faults. */ -}}
{{- define "tkc.validate.keeper" -}}
{{- $values := .root.tkc.values -}}
{{- $paths := list -}}
{{- range list "enabled" "highWatermark" "lowWatermark" "ttl" "dryRun" "resources" -}}{{- $paths = append $paths (printf "l2.keeper.%s" .) -}}{{- end -}}
{{- $complete := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" $paths) -}}
{{- if and $complete $values.l2.enabled $values.l2.keeper.enabled -}}
{{-   $keeper := $values.l2.keeper -}}
{{-   $volume := index $values.l2 "volume" | default dict -}}
{{-   $size := index $volume "size" | default "" -}}
{{- /* 0 is not empty, whichever way it is written. */ -}}
{{-   $given := kindIs "invalid" (index $keeper "quota") | ternary "" (toJson (index $keeper "quota") | trimAll "\"") -}}
{{-   $wanted := $given | default $size -}}
{{-   $quota := 0 -}}
{{-   if include "tkc.quantity.size" $wanted -}}{{- $quota = include "tkc.quantity.bytes" $wanted | int64 -}}{{- end -}}
{{-   if not $quota -}}
{{-     if $given -}}{{- include "tkc.fault" (dict "faults" .faults "key" "l2.keeper.quota" "value" $keeper.quota "why" "not a whole number of bytes above 0" "fix" "write digits and a unit, for example 80Gi") -}}{{- end -}}
{{-   else if eq (index $volume "type" | default "") "hostPath" -}}
{{-     if and (include "tkc.quantity.size" $size) (gt $quota (include "tkc.quantity.bytes" $size | int64)) -}}
{{-       include "tkc.fault" (dict "faults" .faults "key" "l2.keeper.quota" "value" $keeper.quota "why" (printf "above l2.volume.size (%s): the volume would be full before anything is evicted" (include "tkc.scalar" $size))
                "fix" "lower it, or give the volume's true size") -}}
{{-     end -}}
{{-   end -}}
{{-   include "tkc.validate.resources" (dict "faults" .faults "key" "l2.keeper.resources" "resources" (index $keeper "resources" | default dict)) -}}
{{-   if ge (float64 $keeper.lowWatermark) (float64 $keeper.highWatermark) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "l2.keeper.lowWatermark" "value" $keeper.lowWatermark "why" (printf "not below l2.keeper.highWatermark (%v)" $keeper.highWatermark)
            "fix" "lower it, for example 0.70 below 0.85") -}}
{{-   end -}}
{{-   range .root.tkc.models -}}
{{-     $result := dict -}}
{{-     include "tkc.at" (dict "from" .spec "path" "cache.l2.quota" "result" $result) -}}
{{-     $own := kindIs "invalid" $result.value | ternary "" (toJson $result.value | trimAll "\"") -}}
{{-     if $own -}}
{{-       $key := printf "models.%s.cache.l2.quota" .name -}}
{{-       if not (include "tkc.quantity.size" $result.value) -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" $key "value" $result.value "why" "not a whole number of bytes above 0" "fix" "write digits and a unit, for example 20Gi") -}}
{{-       else if and $quota (gt (include "tkc.quantity.bytes" $result.value | int64) $quota) -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" $key "value" $result.value "why" (printf "above l2.keeper.quota (%s), which holds for all models together" (include "tkc.scalar" $wanted)) "fix" "lower it, or leave it empty") -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{-   include "tkc.validate.keeper.others" (dict "faults" .faults "own" $values.lineOfBusiness "others" ($keeper.linesOfBusiness | default dict)) -}}
{{- end -}}
{{- end -}}

{{- /* Other lines of business on the volume. Context: dict faults, own (this release's), others. */ -}}
{{- define "tkc.validate.keeper.others" -}}
{{- $size := "not a whole number of bytes above 0" -}}
{{- $write := "write digits and a unit, for example 80Gi" -}}
{{- range $name, $one := .others -}}
{{-   $key := printf "l2.keeper.linesOfBusiness.%s" $name -}}
{{-   if eq $name (toString $.own) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $key "value" $one "why" "this release's own line of business" "fix" "give its quota as l2.keeper.quota, and its models' as models.<name>.cache.l2.quota") -}}
{{-   else if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$" $name) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $key "value" $name "why" "not the name of a line of business" "fix" "write lineOfBusiness of the other release: at most 30 of a-z, 0-9 and \"-\"") -}}
{{-   else if not (kindIs "invalid" $one) -}}
{{-     $quota := index $one "quota" -}}
{{-     if not (include "tkc.quantity.size" $quota) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.quota" $key) "value" $quota "why" $size "fix" $write) -}}
{{-     end -}}
{{-     range $model, $own := index $one "models" | default dict -}}
{{-       if not (or (kindIs "invalid" $own) (include "tkc.quantity.size" $own)) -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.models.%s" $key $model) "value" $own "why" $size "fix" $write) -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Rules for keys of the whole release. Context: dict root, faults. */ -}}
{{- define "tkc.validate.release" -}}
{{- $values := .root.tkc.values -}}
{{- $prefix := include "tkc.prefix" .root -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $prefix) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (ternary "nameOverride" "the release's name" (not (empty $values.nameOverride))) "value" $prefix
          "why" "names of Services begin with a small letter and hold only a-z, 0-9 and -"
          "fix" "choose another release name, or set nameOverride to a legal first part for all names") -}}
{{- else if gt (len $prefix) 53 -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "nameOverride" "value" $prefix "why" (printf "%d characters; 53 at most leave room for the parts behind it" (len $prefix)) "fix" "shorten it") -}}
{{- end -}}
{{- range .root.tkc.undecided -}}
{{-   $key := ternary (printf "models.%s.enabled" .name) (ternary "defaults.enabled" "defaults" (hasKey $values "defaults")) .own -}}
{{-   include "tkc.fault" (dict "faults" $.faults "key" $key "why" "null deletes it, and whether a model is deployed must be said: an upgrade would else delete it without a word"
          "fix" "leave the key out, or set it to true or false (to leave one model out: enabled: false)") -}}
{{- end -}}
{{- $lob := index $values "lineOfBusiness" -}}
{{- if $lob -}}
{{-   if or (gt (len $lob) 30) (not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" $lob)) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "lineOfBusiness" "value" $lob "why" "it becomes a label and a directory on the L2 volume: at most 30 of a-z, 0-9 and -, beginning and ending with a letter or digit"
            "fix" "choose a short name such as retail") -}}
{{-   end -}}
{{- else if .root.tkc.models -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "lineOfBusiness" "value" "" "why" "models are enabled, and their cache on the L2 volume belongs to a line of business"
          "fix" "set lineOfBusiness, for example retail") -}}
{{- end -}}
{{- include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "networkPolicy.enabled")) | replace "complete" "" -}}
{{- range list "apiKey" "cacheSalt" -}}
{{-   include "tkc.validate.givenSecret" (merge (dict "at" .) $) -}}
{{- end -}}
{{- include "tkc.validate.releaseTexts" . -}}
{{- if .root.tkc.models -}}
{{-   include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "router.image.repository" "router.image.pullPolicy")) | replace "complete" "" -}}
{{-   with (index $values "router") -}}{{- with (index . "image") -}}
{{-     include "tkc.validate.image" (dict "faults" $.faults "key" "router.image" "image" .) -}}
{{-   end -}}{{- end -}}
{{- end -}}
{{- end -}}

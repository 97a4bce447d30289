{{- /* Values that were written for another version of the chart: files/changed-keys.yaml. */ -}}

{{- /* Reads the table once a render, into .tkc.changes. Context: root. */ -}}
{{- define "tkc.changes.load" -}}
{{- if not (hasKey .tkc "changes") -}}
{{-   $_ := set .tkc "changes" (.Files.Get "files/changed-keys.yaml" | fromYaml) -}}
{{- end -}}
{{- end -}}

{{- /* Fails for a file of a newer chart, before anything else is looked at: this chart knows neither its keys nor their types, and the schema
       lets all of them pass, so that this is said. Context: root. */ -}}
{{- define "tkc.validate.newer" -}}
{{- include "tkc.changes.load" . -}}
{{- $given := index .Values "schemaVersion" -}}
{{- if not (kindIs "invalid" $given) -}}
{{-   if gt (int64 $given) (int64 .tkc.changes.schemaVersion) -}}
{{-     $faults := dict "list" list -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" "schemaVersion" "value" $given "why" (printf "the values were written for a newer chart: chart %s knows schemaVersion %d" .Chart.Version (int64 .tkc.changes.schemaVersion))
            "fix" (printf "use the chart that they were written for, or a newer one; for this one take values of schemaVersion %d or older" (int64 .tkc.changes.schemaVersion))) -}}
{{-     include "tkc.validate.report" (dict "root" . "faults" $faults) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict root, faults. */ -}}
{{- define "tkc.validate.changes" -}}
{{- $root := .root -}}
{{- include "tkc.changes.load" $root -}}
{{- $given := index $root.Values "schemaVersion" -}}
{{- if kindIs "invalid" $given -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "schemaVersion" "why" (printf "the defaults of chart %s are not there: helm upgrade --reuse-values keeps those of the chart that was installed before, and takes none of the new one" $root.Chart.Version)
          "fix" "helm upgrade --reset-then-reuse-values instead of --reuse-values (or -f with your files, and neither); if the key was deleted with null, leave it out") -}}
{{- end -}}
{{- range $entry := $root.tkc.changes.keys -}}
{{-   if or (not (index $entry "meaning")) (and $given (lt (int64 $given) (int64 $entry.since))) -}}
{{-     include "tkc.validate.changedKey" (dict "root" $root "faults" $.faults "entry" $entry "scope" "" "from" $root.Values "key" $entry.key) -}}
{{-     if hasPrefix "defaults." $entry.key -}}
{{-       range $name, $own := index $root.Values "models" | default dict -}}
{{-         include "tkc.validate.changedKey" (dict "root" $root "faults" $.faults "entry" $entry "scope" (printf "models.%s." $name) "from" ($own | default dict) "key" (trimPrefix "defaults." $entry.key)) -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict root, faults, entry, from (the tree that may hold the key), key (its path there), scope (what stands before it). */ -}}
{{- define "tkc.validate.changedKey" -}}
{{- $result := dict -}}
{{- include "tkc.at" (dict "from" .from "path" .key "result" $result) -}}
{{- if hasKey $result "value" -}}
{{-   $before := include "tkc.changes.nested" (dict "path" (printf "%s%s" .scope .key) "value" $result.value) -}}
{{-   $why := printf "gone since schemaVersion %d: %s" (int64 .entry.since) .entry.why -}}
{{-   $fix := printf "take it out\n     before: %s\n     after:  (nothing)" $before -}}
{{-   if index .entry "now" -}}
{{-     $now := printf "%s%s" .scope (ternary (trimPrefix "defaults." .entry.now) .entry.now (ne .scope "")) -}}
{{-     $why = printf "%s since schemaVersion %d: %s" $now (int64 .entry.since) .entry.why -}}
{{-     $fix = printf "write its value there\n     before: %s\n     after:  %s" $before (include "tkc.changes.nested" (dict "path" $now "value" $result.value)) -}}
{{-   else if index .entry "meaning" -}}
{{-     $why = printf "means something else since schemaVersion %d: %s" (int64 .entry.since) .entry.why -}}
{{-     $fix = printf "read what it means now (docs/values.md), and set schemaVersion: %d\n     before: %s" (int64 .root.tkc.changes.schemaVersion) $before -}}
{{-   end -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "%s%s" .scope .key) "value" $result.value "why" $why "fix" $fix) -}}
{{- end -}}
{{- end -}}

{{- /* The value below its path, as one line of YAML. Context: dict path, value. */ -}}
{{- define "tkc.changes.nested" -}}
{{- $tree := .value -}}
{{- range splitList "." .path | reverse -}}{{- $tree = dict . $tree -}}{{- end -}}
{{- toRawJson $tree -}}
{{- end -}}

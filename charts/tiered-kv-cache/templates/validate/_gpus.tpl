{{- /* Rules for GPUs, beside those for every counted resource (tkc.validate.resources). Context everywhere: dict root, faults,
       model. */ -}}

{{- define "tkc.validate.gpus" -}}
{{- $engine := .model.spec.engine -}}
{{- $limits := index .model.spec.resources.engine "limits" | default dict -}}
{{- $names := include "model-endpoint.engine.gpuNames" $limits | fromJsonArray -}}
{{- $others := list -}}
{{- range $name, $_ := merge (dict) $limits (index .model.spec.resources.engine "requests" | default dict) -}}
{{-   if and (include "tkc.accelerator" $name) (not (has $name $names)) -}}
{{-     if or (eq $engine.device "cpu") (not (include "model-endpoint.engine.gpuNames" (dict $name 1) | fromJsonArray)) -}}{{- $others = append $others $name -}}{{- end -}}
{{-   end -}}
{{- end -}}
{{- if eq $engine.device "cpu" -}}
{{-   with concat $names $others -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.device" "why" (printf "resources.engine asks for %s, and engines on cpu use no GPU" (join ", " .)) "fix" "set engine.device: cuda, or take the GPUs out") $) -}}
{{-   end -}}
{{- else if $others -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "models.%s.resources.engine" .model.name) "value" (join ", " $others) "why" "no GPU that an engine on cuda can use: NVIDIA's are counted as nvidia.com/gpu, nvidia.com/gpu.shared or nvidia.com/mig-..."
          "fix" "take it out, or write nvidia.com/gpu") -}}
{{- else if gt (len $names) 1 -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "models.%s.resources.engine.limits" .model.name) "value" (join ", " $names) "why" "a Pod takes either whole GPUs or slices of one size, and these would all be reserved"
          "fix" "keep one; an overlay deletes an inherited one with null") -}}
{{- else if $names -}}
{{-   include "tkc.validate.gpuCount" (merge (dict "name" (first $names) "amount" (index $limits (first $names))) .) -}}
{{- end -}}
{{- end -}}

{{- /* The one GPU resource of a model on cuda. Context: as above and name, amount. */ -}}
{{- define "tkc.validate.gpuCount" -}}
{{- $engine := .model.spec.engine -}}
{{- $ranks := include "model-endpoint.engine.ranks" .model | int64 -}}
{{- $sizes := printf "engine.tensorParallelSize %d x engine.pipelineParallelSize %d" (int64 $engine.tensorParallelSize) (int64 $engine.pipelineParallelSize) -}}
{{- $key := printf "models.%s.resources.engine.limits.%s" .model.name .name -}}
{{- $count := include "tkc.scalar" .amount -}}
{{- if not (regexMatch "^[0-9]{1,18}$" $count) -}}
{{- /* That it is no number of devices is said already. */ -}}
{{- else if and (hasPrefix "nvidia.com/mig-" .name) (or (gt (int64 $count) 1) (gt $ranks 1)) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" $key "value" .amount "why" (printf "a process sees one MIG slice only, and slices cannot exchange data, so that an engine runs on one (%s)" $sizes)
          "fix" "use one slice with tensorParallelSize and pipelineParallelSize 1, a larger slice, or whole GPUs") -}}
{{- else if ne (int64 $count) $ranks -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" $key "value" .amount "why" (printf "%s = %d GPUs" $sizes $ranks) "fix" (printf "set it to %d, leave it out, or change the sizes" $ranks)) -}}
{{- end -}}
{{- end -}}

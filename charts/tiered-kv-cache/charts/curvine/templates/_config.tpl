{{- /* Curvine's configuration. One file for each component, so that what concerns one of them restarts only that one. */ -}}

{{- /* Context: dict into (changed), from. */ -}}
{{- define "curvine.config.lay" -}}
{{- range $key, $value := .from -}}
{{-   if not (kindIs "invalid" $value) -}}
{{-     $_ := set $.into $key $value -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* What all parts must agree on. Context: root. JSON object. */ -}}
{{- define "curvine.config.common" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $peers := list -}}
{{- $addresses := list -}}
{{- range $index, $host := include "curvine.masters.hosts" . | fromJsonArray -}}
{{-   $peers = append $peers (dict "id" (add1 $index) "hostname" $host "port" $ports.raft) -}}
{{-   $addresses = append $addresses (dict "hostname" $host "port" $ports.rpc) -}}
{{- end -}}
{{- toJson (dict "peers" $peers "addresses" $addresses) -}}
{{- end -}}

{{- /* [client], the same for FUSE clients and for workers, whose heartbeats go by it too. Context: root. */ -}}
{{- define "curvine.config.clientSection" -}}
{{- $values := .tkc.values.curvine -}}
{{- $client := dict "master_addrs" (include "curvine.config.common" . | fromJson).addresses "block_size" (printf "%sB" (include "tkc.quantity.bytes" $values.blockSize)) -}}
{{- include "curvine.config.lay" (dict "into" $client "from" $values.config.client) -}}
{{- toJson $client -}}
{{- end -}}

{{- define "curvine.log" -}}
{{- toJson (dict "level" .tkc.values.curvine.logLevel "log_dir" "stdout" "file_name" "curvine.log") -}}
{{- end -}}

{{- /* JSON that was read has floats: those that are whole are made so, at every depth and in place. Context: map or list. */ -}}
{{- define "curvine.config.whole" -}}
{{- $all := . -}}
{{- range $key, $value := $all -}}
{{-   if or (kindIs "map" $value) (kindIs "slice" $value) -}}
{{-     include "curvine.config.whole" $value -}}
{{-   else if and (kindIs "map" $all) (kindIs "float64" $value) -}}
{{-     if eq (float64 (int64 $value)) $value -}}{{- $_ := set $all $key (int64 $value) -}}{{- end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* TOML. Context: dict root, sections. */ -}}
{{- define "curvine.config.toml" -}}
{{- $log := include "curvine.log" .root | fromJson -}}
{{- $all := dict "cluster_id" (include "curvine.key" .root) "format_master" false "format_worker" false "log" $log "cli" (dict "log" $log) -}}
{{- include "curvine.config.whole" .sections -}}
{{- include "curvine.dense" (toToml (merge $all .sections)) -}}
{{- end -}}

{{- /* Context: root. */ -}}
{{- define "curvine.config.masters" -}}
{{- $values := .tkc.values.curvine -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $common := include "curvine.config.common" . | fromJson -}}
{{- $log := include "curvine.log" . | fromJson -}}
{{- /* The hostname comes from the Pod's environment. Subdirectories: a lost+found beside them would stop a master. */ -}}
{{- $master := dict "rpc_port" $ports.rpc "web_port" $ports.masterMetrics "meta_dir" "/data/meta" "log" $log "audit_log" $log -}}
{{- include "curvine.config.lay" (dict "into" $master "from" $values.config.master) -}}
{{- $journal := dict "rpc_port" $ports.raft "journal_addrs" $common.peers "journal_dir" "/data/journal" -}}
{{- include "curvine.config.lay" (dict "into" $journal "from" $values.config.journal) -}}
{{- include "curvine.config.toml" (dict "root" . "sections" (dict "master" $master "journal" $journal "client" (include "curvine.config.clientSection" . | fromJson))) -}}
{{- end -}}

{{- define "curvine.config.workers" -}}
{{- $values := .tkc.values.curvine -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $disk := $values.workers.disk -}}
{{- $worker := dict
      "rpc_port" $ports.worker "web_port" $ports.workerMetrics "log" (include "curvine.log" . | fromJson)
      "data_dir" (list (printf "[%s:%sB]/data/kv" $disk.type (include "tkc.quantity.bytes" $disk.size))) -}}
{{- include "curvine.config.lay" (dict "into" $worker "from" $values.config.worker) -}}
{{- include "curvine.config.toml" (dict "root" . "sections" (dict "worker" $worker "client" (include "curvine.config.clientSection" . | fromJson))) -}}
{{- end -}}

{{- define "curvine.config.client" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $fuse := dict "web_port" $ports.clientMetrics "log" (include "curvine.log" . | fromJson) -}}
{{- include "curvine.config.lay" (dict "into" $fuse "from" .tkc.values.curvine.config.fuse) -}}
{{- include "curvine.config.toml" (dict "root" . "sections" (dict "fuse" $fuse "client" (include "curvine.config.clientSection" . | fromJson))) -}}
{{- end -}}

{{- /* Configuration of one component. Context: dict root, part (masters, workers, client). */ -}}
{{- define "curvine.config" -}}
{{- include (printf "curvine.config.%s" .part) .root -}}
{{- end -}}

{{- /* The hash in the name restarts a component when what it reads changes. */ -}}
{{- define "curvine.config.name" -}}
{{- printf "%s-%s" (include (printf "curvine.%s.name" .part) .root) (include "curvine.config" . | sha256sum | trunc 8) -}}
{{- end -}}

{{- define "curvine.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "curvine.config.name" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" .root "component" (printf "curvine-%s" .part)) | nindent 4 }}
data:
  curvine-cluster.toml: |
    {{- include "curvine.config" . | nindent 4 }}
{{- end -}}

{{- /* Without its empty lines, which would have trailing blanks in YAML. Context: text. */ -}}
{{- define "curvine.dense" -}}
{{- regexReplaceAll "(?m)^[ \t]*\n" . "" | trim -}}
{{- end -}}

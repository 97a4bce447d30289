{{- /* What a claim of the CSI driver is made with. Parameters are part of a volume for good, and so is their hash of the claim's
       name: other settings are another claim, which begins empty. Context everywhere: root. */ -}}

{{- /* Settings that Curvine v0.4.1 takes as parameters, by table, and whether each wants digits ("int"), true and false ("bool")
       or a text. One that is not here makes CreateVolume fail, and reaches a mount by the node plugin's file only. JSON object. */ -}}
{{- define "curvine.csi.kinds" -}}
{{- $client := dict
      "bool" (list "audit_logging_enabled" "enable_block_conn_pool" "enable_read_ahead" "enable_smart_prefetch" "metric_report_enable" "rpc_close_idle" "short_circuit")
      "int" (list "block_conn_idle_size" "block_conn_idle_time" "clean_task_interval" "close_timeout_secs" "conn_retry_max_duration_ms"
        "conn_retry_max_sleep_ms" "conn_retry_min_sleep_ms" "conn_timeout_ms" "data_timeout_ms" "failed_worker_ttl" "io_threads" "master_conn_pool_size"
        "max_cache_block_handles" "max_read_parallel" "read_chunk_num" "read_parallel" "replicas" "rpc_retry_max_duration_ms" "rpc_retry_max_sleep_ms"
        "rpc_retry_min_sleep_ms" "rpc_timeout_ms" "sequential_read_threshold" "worker_threads" "write_chunk_num")
      "text" (list "drop_cache_len" "large_file_size" "read_ahead_len" "read_chunk_size" "read_slice_size" "small_file_size" "storage_type" "write_chunk_size") -}}
{{- $fuse := dict
      "bool" (list "cache_readdir" "check_permission" "clone_fd" "direct_io" "enable_meta_cache" "metrics_enabled" "read_dir_fill_ino" "remember" "write_back_cache")
      "int" (list "attr_timeout_ms" "congestion_threshold" "entry_timeout_ms" "fuse_channel_size" "io_threads" "list_limit" "max_background" "mnt_number"
        "negative_timeout_ms" "stream_channel_size" "tasks_per_mnt" "worker_threads")
      "text" (list "node_cache_timeout") -}}
{{- $all := dict -}}
{{- range $table, $kinds := dict "client" $client "fuse" $fuse -}}
{{-   $one := dict -}}
{{-   range $kind, $names := $kinds -}}
{{-     range $names -}}{{- $_ := set $one . $kind -}}{{- end -}}
{{-   end -}}
{{-   $_ := set $all $table $one -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{- /* All but the place in the pool, which the claim's name is part of. JSON object of texts. */ -}}
{{- define "curvine.csi.settings" -}}
{{- $kinds := include "curvine.csi.kinds" . | fromJson -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $masters := list -}}
{{- range include "curvine.masters.hosts" . | fromJsonArray -}}
{{-   $masters = append $masters (printf "%s:%v" . $ports.rpc) -}}
{{- end -}}
{{- $all := dict
      "master-addrs" (join "," $masters)
      "path-type" "DirectoryOrCreate"
      "web-port" (toString $ports.clientMetrics)
      "client.block-size" (printf "%sB" (include "tkc.quantity.bytes" .tkc.values.curvine.blockSize)) -}}
{{- range $table, $prefix := dict "client" "client." "fuse" "" -}}
{{-   range $name, $value := index $.tkc.values.curvine.config $table | default dict -}}
{{-     if and (hasKey (index $kinds $table) $name) (not (kindIs "invalid" $value)) -}}
{{-       $_ := set $all (printf "%s%s" $prefix ($name | replace "_" "-")) (include "tkc.scalar" $value) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{- define "curvine.csi.hash" -}}
{{- include "curvine.csi.settings" . | sha256sum | trunc 8 -}}
{{- end -}}

{{- /* Cluster-scoped: named as a static volume of the claim would be. */ -}}
{{- define "curvine.csi.className" -}}
{{- include "tkc.staticVolume.name" (dict "root" . "claim" (include "tkc.l2.claimName" .)) -}}
{{- end -}}

{{- /* A directory of the pool for each claim alone. Claims that shared one would share a FUSE process on each node, and the
       driver ends that when the last Pod of one of them leaves: it counts a volume's leaving twice. */ -}}
{{- define "curvine.csi.storageClass" -}}
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: {{ include "curvine.csi.className" . }}
  labels:
    {{- include "tkc.labels" (dict "root" . "component" "l2") | nindent 4 }}
provisioner: {{ include "curvine.csi.driver" . }}
reclaimPolicy: Delete
volumeBindingMode: Immediate
allowVolumeExpansion: false
parameters:
  {{- merge (dict "fs-path" (printf "/volumes/%s" (include "curvine.csi.className" .))) (include "curvine.csi.settings" . | fromJson) | toYaml | nindent 2 }}
{{- end -}}

{{- define "curvine.csi.claim" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ include "tkc.l2.claimName" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" . "component" "l2") | nindent 4 }}
  annotations:
    # The next install finds its blocks. It also ends in order so: a claim that goes with the driver stays half deleted.
    helm.sh/resource-policy: keep
spec:
  accessModes: [ReadWriteMany]
  storageClassName: {{ include "curvine.csi.className" . }}
  volumeMode: Filesystem
  resources:
    requests:
      storage: {{ include "tkc.scalar" .tkc.values.l2.volume.size | quote }}
{{- end -}}

{{- /* This release's own pool. Followers among the masters show zeros, so the largest value is the leader's. Context: root. */ -}}
{{- define "tkc.rules.pool" -}}
{{- $masters := include "tkc.observability.job" (dict "root" . "component" "curvine-masters") -}}
{{- $workers := include "tkc.observability.job" (dict "root" . "component" "curvine-workers") -}}
{{- $client := include "tkc.observability.job" (dict "root" . "component" (include "tkc.observability.client" .)) -}}
{{- /* A driver's watcher looks at Pods' mounts; the label "pod" is the target's own. */ -}}
{{- $whose := ternary "Pod {{ $labels.exported_pod }}" "line of business {{ $labels.line_of_business }}" (include "curvine.csi" . | eq "true") -}}
{{- $thresholds := .tkc.values.observability.alerts.thresholds -}}
{{- $name := include "curvine.key" . -}}
{{- $live := printf "worker_num{%s, tag=\"live\"}" $masters -}}
{{- $expected := printf "max(max_over_time(%s[1d]))" $live -}}
{{- $number := index $thresholds "poolWorkers" -}}
{{- if not (kindIs "invalid" $number) -}}{{- $expected = printf "%d" (int64 $number) -}}{{- end -}}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCachePoolWorkersMissing" "for" "5m" "severity" "warning"
      "expr" (printf "max(%s) < %s" $live $expected)
      "summary" "Workers of the pool are missing"
      "description" (printf "Pool %s has {{ $value }} live workers, fewer than expected: the blocks of the others cannot be read until they come back." $name)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCachePoolAlmostFull" "for" "10m" "severity" "warning"
      "expr" (printf "max(available{%s}) / max(capacity{%s}) < %s" $masters $masters (include "tkc.scalar" $thresholds.poolFree))
      "summary" "The pool is almost full"
      "description" (printf "Pool %s has {{ $value | humanizePercentage }} of its space left. A full one answers every store with EIO; reads go on." $name)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCachePoolLeaderChanges" "for" "0s" "severity" "warning"
      "expr" (printf "max(changes(journal_term{%s}[30m])) > 3" $masters)
      "summary" "The pool's masters choose a leader again and again"
      "description" (printf "Pool %s: {{ $value }} elections in 30 minutes; at each one reads and stores pause." $name)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCachePoolDiskFailed" "for" "2m" "severity" "critical"
      "expr" (printf "failed_disks{%s} > 0" $workers)
      "summary" "A disk of the pool has failed"
      "description" (printf "Pool %s: worker Pod {{ $labels.pod }} counts its disk as failed; its blocks cannot be read." $name)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCachePoolMountErrors" "for" "10m" "severity" "warning"
      "expr" (printf "sum by (pod, errno) (rate(curvine_fuse_errors_total{%s, errno=~\"EIO|ENOSPC|ETIMEDOUT|ENOMEM|EPROTO|EROFS|OTHER\"}[5m])) > 0.1" $client)
      "summary" "A mount of the pool answers with errors"
      "description" (printf "Pool %s: the mount of Pod {{ $labels.pod }} gives {{ $labels.errno }} {{ $value | humanize }} times a second." $name)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCachePoolMountSessionLost" "for" "2m" "severity" "critical"
      "expr" (printf "curvine_fuse_kernel_fd_health{%s} == 0" $client)
      "summary" "A mount of the pool has lost the kernel"
      "description" (printf "Pool %s: the FUSE process of Pod {{ $labels.pod }} runs, but serves no mount any more." $name)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCachePoolMountDown" "for" "3m" "severity" "critical"
      "expr" (printf "tiered_kv_cache_pool_mount_up{%s} == 0" $client)
      "summary" "A mount of the pool does not answer"
      "description" (printf "Pool %s: the mount of %s by Pod {{ $labels.pod }} is dead or hangs: engines on that node compute instead of reading." $name $whose)) }}
{{- end -}}

{{- /* Names, ports, addresses and paths of the pool: the only place that knows them. Context everywhere: root. */ -}}

{{- /* "true" if L2 lies in a pool of Curvine, this release's or another one's. */ -}}
{{- define "curvine.used" -}}
{{- $l2 := .tkc.values.l2 -}}
{{- if and $l2.enabled (eq (dig "volume" "type" "" $l2) "curvine") }}true{{ end -}}
{{- end -}}

{{- /* "true" if this release runs the pool itself. */ -}}
{{- define "curvine.own" -}}
{{- if and (include "curvine.used" .) (not (dig "pool" "release" "" .tkc.values.curvine)) }}true{{ end -}}
{{- end -}}

{{- /* "true" if Pods reach it by a claim of Curvine's CSI driver, and not by a directory of their node. */ -}}
{{- define "curvine.csi" -}}
{{- if and (include "curvine.used" .) (eq (dig "client" "mode" "daemonset" .tkc.values.curvine) "csi") }}true{{ end -}}
{{- end -}}

{{- /* "true" if it is mounted below a directory of each node, where it can appear anew under Pods that run. */ -}}
{{- define "curvine.onNodes" -}}
{{- if and (include "curvine.used" .) (not (include "curvine.csi" .)) }}true{{ end -}}
{{- end -}}

{{- /* What the pool is known by: the namespace and first part of names of the release that runs it, joined by a dot, which no
       namespace can contain. It is the cluster id as well, so that a worker's disk knows whose it is. */ -}}
{{- define "curvine.key" -}}
{{- $pool := dig "pool" dict .tkc.values.curvine -}}
{{- if include "curvine.own" . -}}
{{- printf "%s.%s" .Release.Namespace (include "tkc.prefix" .) -}}
{{- else -}}
{{- printf "%s.%s" ($pool.namespace | default .Release.Namespace) $pool.release -}}
{{- end -}}
{{- end -}}

{{- /* First part of names in the release that runs the pool, and its namespace. */ -}}
{{- define "curvine.prefix" -}}
{{- splitList "." (include "curvine.key" .) | last -}}
{{- end -}}

{{- define "curvine.namespace" -}}
{{- splitList "." (include "curvine.key" .) | first -}}
{{- end -}}

{{- define "curvine.masters.name" -}}{{ include "curvine.prefix" . }}-curvine-master{{- end -}}
{{- define "curvine.workers.name" -}}{{ include "curvine.prefix" . }}-curvine-worker{{- end -}}
{{- define "curvine.client.name" -}}{{ include "curvine.prefix" . }}-curvine-client{{- end -}}

{{- define "curvine.csi-controller.name" -}}{{ include "curvine.prefix" . }}-curvine-csi-controller{{- end -}}
{{- /* Not the daemonset mode's name: a DaemonSet that replaces its Pods would become one that never does. */ -}}
{{- define "curvine.csi-node.name" -}}{{ include "curvine.prefix" . }}-curvine-csi-node{{- end -}}

{{- /* Components that reach the masters from outside: the mounts, and in CSI mode who makes the directories. JSON list. */ -}}
{{- define "curvine.clients" -}}
{{- ternary (list "csi-node" "csi-controller") (list "client") (include "curvine.csi" . | eq "true") | toJson -}}
{{- end -}}

{{- /* The driver's name, which no option changes: one of these in a cluster. */ -}}
{{- define "curvine.csi.driver" -}}curvine{{- end -}}

{{- /* Where the kubelet lives: the driver knows this place only. */ -}}
{{- define "curvine.csi.kubelet" -}}/var/lib/kubelet{{- end -}}
{{- define "curvine.csi.home" -}}/opt/curvine{{- end -}}

{{- /* Ports. JSON object of numbers. */ -}}
{{- define "curvine.ports" -}}
{{- toJson (dict "rpc" 8995 "raft" 8996 "masterMetrics" 9000 "worker" 8997 "workerMetrics" 9001 "clientMetrics" 9002 "watch" 9401) -}}
{{- end -}}

{{- /* Names of the masters, one for each ordinal, the same from the first day on: clients and the journal hold them. JSON list. */ -}}
{{- define "curvine.masters.hosts" -}}
{{- $hosts := list -}}
{{- $name := include "curvine.masters.name" . -}}
{{- $values := .tkc.values.curvine -}}
{{- range until (ternary $values.masters.replicas (dig "pool" "masters" 1 $values) (include "curvine.own" . | eq "true") | int) -}}
{{-   $hosts = append $hosts (printf "%s-%d.%s.%s.svc" $name . $name (include "curvine.namespace" $)) -}}
{{- end -}}
{{- toJson $hosts -}}
{{- end -}}

{{- /* Metrics of all masters; only the leader knows the workers. JSON list. */ -}}
{{- define "curvine.masters.metrics" -}}
{{- $urls := list -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- range include "curvine.masters.hosts" . | fromJsonArray -}}
{{-   $urls = append $urls (printf "http://%s:%v/metrics" . $ports.masterMetrics) -}}
{{- end -}}
{{- toJson $urls -}}
{{- end -}}

{{- /* On each node: the directory below which each line of business finds its part of the pool. */ -}}
{{- define "curvine.client.directory" -}}
{{- printf "%s/%s" (.tkc.values.curvine.client.directory | trimSuffix "/") (include "curvine.key" .) -}}
{{- end -}}

{{- /* Lines of business that have a part of this release's pool. JSON list. */ -}}
{{- define "curvine.tenants" -}}
{{- $all := .tkc.values.curvine.linesOfBusiness | default list -}}
{{- with .tkc.values.lineOfBusiness -}}{{- $all = append $all . -}}{{- end -}}
{{- $all | uniq | sortAlpha | toJson -}}
{{- end -}}

{{- /* Image of all of Curvine's programs. */ -}}
{{- define "curvine.image" -}}
{{- include "tkc.image" .tkc.values.curvine.image -}}
{{- end -}}

{{- define "curvine.bin" -}}/app/curvine/lib{{- end -}}
{{- define "curvine.configDirectory" -}}/etc/curvine{{- end -}}
{{- define "curvine.configFile" -}}{{ include "curvine.configDirectory" . }}/curvine-cluster.toml{{- end -}}

{{- /* Rules for the pool. Context everywhere: dict root, faults. */ -}}
{{- define "tkc.validate.curvine" -}}
{{- $values := .root.tkc.values -}}
{{- if include "curvine.used" .root -}}
{{-   if include "curvine.own" .root -}}
{{-     $paths := list "image.repository" "image.pullPolicy" "logLevel" "blockSize" "masters.replicas" "masters.storage.size" "workers.disk.path" "workers.disk.size" "workers.disk.reserve" "workers.disk.type" "client.mode" "client.directory" "teardown.enabled" "teardown.force" "teardown.deadlineSeconds" -}}
{{-     if include "curvine.csi" .root -}}
{{-       range list "image" "provisioner.image" "registrar.image" -}}{{- $paths = concat $paths (list (printf "client.csi.%s.repository" .) (printf "client.csi.%s.pullPolicy" .)) -}}{{- end -}}
{{-     end -}}
{{-     $all := list -}}
{{-     range $paths -}}{{- $all = append $all (printf "curvine.%s" .) -}}{{- end -}}
{{-     if include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" $all) -}}
{{-       include "tkc.validate.curvine.own" . -}}
{{-     end -}}
{{-   else -}}
{{-     include "tkc.validate.curvine.other" . -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* A pool that another release runs. */ -}}
{{- define "tkc.validate.curvine.other" -}}
{{- $curvine := .root.tkc.values.curvine -}}
{{- $key := include "curvine.key" .root -}}
{{- if include "tkc.validate.required" (dict "faults" .faults "from" .root.tkc.values "prefix" "" "paths" (list "curvine.client.mode" "curvine.client.directory")) -}}
{{-   if not (include "tkc.validate.cleanPath" $curvine.client.directory) -}}
{{-     include "tkc.validate.curvine.directory" . -}}
{{-   end -}}
{{- end -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?\\.[a-z]([-a-z0-9]*[a-z0-9])?$" $key) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "curvine.pool" "value" $curvine.pool "why" "not a release and its namespace" "fix" "write them as: helm list -A shows them") -}}
{{- end -}}
{{- with $curvine.linesOfBusiness -}}
{{-   include "tkc.fault" (dict "faults" $.faults "key" "curvine.linesOfBusiness" "value" . "why" (printf "the pool is another release's (curvine.pool.release: %s), which alone can give parts of it" $curvine.pool.release)
          "fix" "name them in the values of that release") -}}
{{- end -}}
{{- if include "curvine.csi" .root -}}
{{-   if include "tkc.validate.required" (dict "faults" .faults "from" .root.tkc.values "prefix" "" "paths" (list "curvine.blockSize")) -}}
{{-     include "tkc.validate.curvine.block" . -}}
{{-   end -}}
{{-   include "tkc.validate.curvine.config" (merge (dict "tables" (list "client" "fuse")) .) -}}
{{-   include "tkc.validate.curvine.parameters" (merge (dict "file" false) .) -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.curvine.block" -}}
{{- $size := .root.tkc.values.curvine.blockSize -}}
{{- if not (include "tkc.quantity.size" $size) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "curvine.blockSize" "value" $size "why" "not a whole number of bytes above 0" "fix" "write digits and a unit, for example 64Mi") -}}
{{- else if lt (include "tkc.quantity.bytes" $size | int64) 1048576 -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "curvine.blockSize" "value" $size "why" "below 1Mi, with which every write fails" "fix" "write 64Mi, or the size of the largest object") -}}
{{- end -}}
{{- end -}}

{{- /* Mode csi: settings become parameters of the claim, which the driver refuses only when it makes the volume, so that the claim
       would stay Pending. Context: dict root, faults, file (whether the others reach the mounts by this release's file). */ -}}
{{- define "tkc.validate.curvine.parameters" -}}
{{- $kinds := include "curvine.csi.kinds" . | fromJson -}}
{{- $names := include "curvine.config.names" . | fromJson -}}
{{- $wants := dict "int" (list "^[0-9]+$" "digits") "bool" (list "^(true|false)$" "true or false") "text" (list "." "a text") -}}
{{- /* The values of these in values.yaml say nothing of what somebody wants. */ -}}
{{- $usual := dict "client" (dict "pipeline_timeout_ms" "10000") "fuse" (dict "audit_logging_enabled" "false") -}}
{{- range $table := list "client" "fuse" -}}
{{-   range $name, $value := index $.root.tkc.values.curvine.config $table | default dict -}}
{{-     $key := printf "curvine.config.%s.%s" $table $name -}}
{{-     $kind := index $kinds $table $name | default "" -}}
{{-     if or (kindIs "map" $value) (kindIs "slice" $value) (not (has $name (index $names $table).known)) -}}
{{-     else if $kind -}}
{{-       $want := index $wants $kind -}}
{{-       if not (regexMatch (first $want) (include "tkc.scalar" $value)) -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" $key "value" $value "why" (printf "with curvine.client.mode csi it is a parameter of the claim, which must be %s there; the driver would refuse the claim" (last $want)) "fix" (printf "write %s" (last $want))) -}}
{{-       end -}}
{{-     else if not (or $.file (eq (include "tkc.scalar" $value) (index $usual $table $name | default ""))) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" $key "value" $value "why" (printf "Curvine's CSI driver takes no such parameter of a claim, and would refuse this one: %s%s" (ternary "client." "" (eq $table "client")) ($name | replace "_" "-"))
              "fix" (printf "take it out, and set it in the release that runs the pool (curvine.pool.release: %s), whose node plugins hold it for all claims" $.root.tkc.values.curvine.pool.release)) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The release's own driver. */ -}}
{{- define "tkc.validate.curvine.csi" -}}
{{- $curvine := .root.tkc.values.curvine -}}
{{- $faults := .faults -}}
{{- $version := .root.Capabilities.KubeVersion.Version -}}
{{- if semverCompare "<1.29.0-0" $version -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "curvine.client.mode" "value" "csi" "why" (printf "Kubernetes %s knows no sidecars (1.29 does): the node plugin could not unmount while it ends" $version) "fix" "set curvine.client.mode: daemonset") -}}
{{- end -}}
{{- with $curvine.linesOfBusiness -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "curvine.linesOfBusiness" "value" . "why" "curvine.client.mode is csi, where each release makes a claim of its own, so that this would be ignored" "fix" "take it out") -}}
{{- end -}}
{{- include "tkc.validate.image" (dict "faults" $faults "key" "curvine.client.csi.image" "image" $curvine.client.csi.image) -}}
{{- range $part := list "provisioner" "registrar" -}}
{{-   include "tkc.validate.image" (dict "faults" $faults "key" (printf "curvine.client.csi.%s.image" $part) "image" (index $curvine.client.csi $part).image) -}}
{{- end -}}
{{- range $part := list "controller" "provisioner" "registrar" -}}
{{-   include "tkc.validate.resources" (dict "faults" $faults "key" (printf "curvine.client.csi.%s.resources" $part) "resources" (index $curvine.client.csi $part).resources) -}}
{{- end -}}
{{- include "tkc.validate.curvine.parameters" (merge (dict "file" true) .) -}}
{{- end -}}

{{- define "tkc.validate.curvine.directory" -}}
{{- include "tkc.fault" (dict "faults" .faults "key" "curvine.client.directory" "value" .root.tkc.values.curvine.client.directory "why" "not an absolute path without ., .. and empty parts" "fix" "write it like /var/lib/tiered-kv-cache") -}}
{{- end -}}

{{- /* The release's own pool. */ -}}
{{- define "tkc.validate.curvine.own" -}}
{{- $values := .root.tkc.values -}}
{{- $curvine := $values.curvine -}}
{{- $disk := $curvine.workers.disk -}}
{{- $faults := .faults -}}
{{- $prefix := include "tkc.prefix" .root -}}
{{- if gt (len $prefix) 36 -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "nameOverride" "value" $prefix "why" (printf "%d characters; a pool's Pods have room for 36" (len $prefix)) "fix" "set a shorter one, or a shorter release name") -}}
{{- end -}}
{{- include "tkc.validate.image" (dict "faults" $faults "key" "curvine.image" "image" $curvine.image) -}}
{{- $write := "write digits and a unit, for example 800Gi" -}}
{{- $key := "curvine.workers.disk.path" -}}
{{- if not $disk.path -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" $key "value" "" "why" "l2.volume.type is curvine, and its workers keep the blocks there"
        "fix" "name the directory on the nodes' NVMe, for example /opt/dlami/nvme on AWS's images, or join another release's pool: curvine.pool.release") -}}
{{- else if not (include "tkc.validate.cleanPath" $disk.path) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" $key "value" $disk.path "why" "not an absolute path without ., .. and empty parts" "fix" "write it like /opt/dlami/nvme") -}}
{{- else if and (include "tkc.validate.cleanPath" $curvine.client.directory) (include "tkc.validate.overlap" (list $disk.path $curvine.client.directory)) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" $key "value" $disk.path "why" (printf "curvine.client.directory (%s) lies in it or around it: the pool would appear inside its own disk" $curvine.client.directory) "fix" "keep the two apart") -}}
{{- end -}}
{{- if not (include "tkc.validate.cleanPath" $curvine.client.directory) -}}
{{-   include "tkc.validate.curvine.directory" . -}}
{{- end -}}
{{- $sizes := dict "curvine.workers.disk.size" $disk.size "curvine.masters.storage.size" $curvine.masters.storage.size -}}
{{- range $name, $size := $sizes -}}
{{-   if not (include "tkc.quantity.size" $size) -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" $name "value" $size "why" (ternary "without a size a worker would take the whole disk" "not a whole number of bytes above 0" (and (eq $name "curvine.workers.disk.size") (eq (toString $size) ""))) "fix" $write) -}}
{{-   end -}}
{{- end -}}
{{- if not (include "tkc.quantity.valid" $disk.reserve) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "curvine.workers.disk.reserve" "value" $disk.reserve "why" "not a number of bytes" "fix" $write) -}}
{{- end -}}
{{- include "tkc.validate.curvine.block" . -}}
{{- if include "tkc.quantity.size" $curvine.blockSize -}}
{{-   $block := include "tkc.quantity.bytes" $curvine.blockSize | int64 -}}
{{-   if and (ge $block 1048576) (include "tkc.quantity.size" $disk.size) (lt (include "tkc.quantity.bytes" $disk.size | int64) (mul 4 $block)) -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" "curvine.workers.disk.size" "value" $disk.size "why" (printf "a worker whose free space is below a block (curvine.blockSize: %s) is full, so that this disk would hardly take any" (include "tkc.scalar" $curvine.blockSize)) "fix" "give it at least four blocks") -}}
{{-   end -}}
{{- end -}}
{{- range $part := list "masters" "workers" "client" -}}
{{-   include "tkc.validate.resources" (dict "faults" $faults "key" (printf "curvine.%s.resources" $part) "resources" (index $curvine $part "resources" | default dict)) -}}
{{-   $own := index $curvine $part -}}
{{-   include "tkc.validate.placement" (dict "root" $.root "faults" $faults "scope" (printf "curvine.%s" $part) "model" (dict "name" $part "given" $own "spec" $own)) -}}
{{- end -}}
{{- $class := $curvine.masters.storage.storageClass -}}
{{- if and $class (not (include "tkc.validate.subdomain" $class)) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "curvine.masters.storage.storageClass" "value" $class "why" "no StorageClass can have this name" "fix" "choose one of: kubectl get storageclass") -}}
{{- end -}}
{{- range .root.tkc.models -}}
{{-   if eq .name "curvine-master" -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" "models.curvine-master" "value" .name "why" "the Service of the pool's masters has the name that this model's would have" "fix" "call the model something else; servedName can stay") -}}
{{-   end -}}
{{- end -}}
{{- if include "curvine.csi" .root -}}
{{-   include "tkc.validate.curvine.csi" . -}}
{{- else if not (include "curvine.tenants" .root | fromJsonArray) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "curvine.linesOfBusiness" "value" $curvine.linesOfBusiness "why" "nobody has a part of the pool: neither lineOfBusiness nor this list names one"
        "fix" "name those whose releases will use it, for example [retail]") -}}
{{- end -}}
{{- range $index, $name := $curvine.linesOfBusiness -}}
{{-   if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$" (toString $name)) -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" (printf "curvine.linesOfBusiness[%d]" $index) "value" $name "why" "not the name of a line of business" "fix" "write lineOfBusiness of the other release: at most 30 of a-z, 0-9 and \"-\"") -}}
{{-   end -}}
{{- end -}}
{{- include "tkc.validate.curvine.config" (merge (dict "tables" (list "client" "fuse" "journal" "master" "worker")) .) -}}
{{- end -}}

{{- /* Curvine's own settings: it takes unknown names without a word. Context: dict root, faults, tables. */ -}}
{{- define "tkc.validate.curvine.config" -}}
{{- $known := include "curvine.config.names" . | fromJson -}}
{{- range $table := .tables -}}
{{-   $own := index $.root.tkc.values.curvine.config $table | default dict -}}
{{-   $names := index $known $table -}}
{{-   range $name, $value := $own -}}
{{-     $key := printf "curvine.config.%s.%s" $table $name -}}
{{-     if hasKey $names.elsewhere $name -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" $key "value" $value "why" "the chart computes it" "fix" (get $names.elsewhere $name)) -}}
{{-     else if and (hasKey $names.harmful $name) (has (get $names.harmful $name).value (list "*" (toString $value))) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" $key "value" $value "why" (get $names.harmful $name).why "fix" (get $names.harmful $name).fix) -}}
{{-     else if not (or (has $name $names.known) (hasKey $names.harmful $name)) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" $key "value" $value "why" (printf "Curvine has no such setting in [%s], and would ignore it without a word" $table) "fix" "correct the name, or take it out") -}}
{{-     else if or (kindIs "map" $value) (kindIs "slice" $value) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" $key "value" $value "why" "a text, a number or true and false are wanted" "fix" "write one of them") -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* What only a cluster can tell. Context: dict root, faults. */ -}}
{{- define "tkc.validate.curvineLive" -}}
{{- $root := .root -}}
{{- if include "curvine.csi" $root -}}
{{-   include "tkc.validate.curvine.driverLive" . -}}
{{- end -}}
{{- if include "curvine.own" $root -}}
{{-   $name := include "curvine.masters.name" $root -}}
{{-   $running := lookup "apps/v1" "StatefulSet" $root.Release.Namespace $name | default dict -}}
{{-   $there := dig "spec" "replicas" 0 $running | int64 -}}
{{-   $wanted := int64 $root.tkc.values.curvine.masters.replicas -}}
{{-   if and $there (ne $there $wanted) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "curvine.masters.replicas" "value" $wanted "why" (printf "StatefulSet %s has %d: the size of a group is settled at its first start, and another one would split it or lose its journal" $name $there)
            "fix" (printf "set it to %d; for an empty pool of another size uninstall, delete the claims data-%s-*, and install again" $there $name)) -}}
{{-   end -}}
{{-   include "tkc.validate.keptMasters" (dict "root" $root "faults" .faults "set" $running) -}}
{{-   range dig "spec" "template" "spec" "containers" list $running -}}
{{-     $old := regexFind "[^:/@]+$" .image -}}
{{-     $new := $root.tkc.values.curvine.image.tag -}}
{{-     $version := "^v?[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?$" -}}
{{-     if and (eq .name "master") (not (contains "@" .image)) (not $root.tkc.values.curvine.image.digest) (regexMatch $version $old) (regexMatch $version $new) -}}
{{-       if lt ((semver $new).Compare (semver $old)) 0 -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" "curvine.image.tag" "value" $new "why" (printf "%s runs %s, and an older Curvine promises to read nothing that a newer one has written" $name $old)
                "fix" (printf "stay at %s or go on; to go back with an empty pool, uninstall and follow \"To begin empty\" in docs/pool.md" $old)) -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{-   $level := dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "" (lookup "v1" "Namespace" "" $root.Release.Namespace | default dict) -}}
{{-   if has $level (list "baseline" "restricted") -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "l2.volume.type" "value" "curvine" "why" (printf "namespace %s admits no privileged Pods (pod-security.kubernetes.io/enforce: %s), which the pool's mounts are" $root.Release.Namespace $level)
            "fix" "run the pool in a release of its own, in a namespace with pod-security.kubernetes.io/enforce: privileged, and name it here in curvine.pool (values/platform.yaml)") -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The driver's name is settled in its program, and kubelets know one of a name: a cluster has one, and its servers let in the
       pool's own clients only. Context: dict root, faults. */ -}}
{{- define "tkc.validate.curvine.driverLive" -}}
{{- $root := .root -}}
{{- $name := include "curvine.csi.driver" $root -}}
{{- $key := include "curvine.key" $root -}}
{{- $there := lookup "storage.k8s.io/v1" "CSIDriver" "" $name -}}
{{- $owner := dig "metadata" "annotations" (printf "%s/pool" (include "tkc.domain" $root)) "" ($there | default dict) -}}
{{- if and $there (ne $owner $key) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "curvine.client.mode" "value" "csi" "why" (printf "CSIDriver %s belongs to %s, and a cluster can have one of this name" $name (ternary (printf "the pool of release %s in namespace %s" (splitList "." $owner | last) (splitList "." $owner | first)) "an installation that this chart did not make" (ne $owner "")))
          "fix" "set curvine.client.mode: daemonset, of which a cluster can have many, or join that pool: curvine.pool") -}}
{{- else if not (or $there (include "curvine.own" $root)) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "curvine.client.mode" "value" "csi" "why" (printf "the cluster has no CSIDriver %s, so that no claim would ever be bound" $name)
          "fix" (printf "install the pool first (curvine.pool.release: %s) with curvine.client.mode: csi, or say daemonset if it does" $root.tkc.values.curvine.pool.release)) -}}
{{- end -}}
{{- end -}}

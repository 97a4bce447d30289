//go:build tools

// Package tools pins, in one module, every Go program of the project: what runs inside a node of the local cluster and
// the command line tools of developers and CI. With one version of each shared library the build cache compiles it
// once for all of them; that is most of a cold start.
package tools

import (
	// inside the nodes
	_ "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/containernetworking/plugins/plugins/main/bridge"
	_ "github.com/containernetworking/plugins/plugins/main/loopback"
	_ "github.com/containernetworking/plugins/plugins/main/ptp"
	_ "github.com/containernetworking/plugins/plugins/meta/portmap"
	_ "github.com/rancher/local-path-provisioner"
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/server/v3"
	_ "sigs.k8s.io/cri-tools/cmd/crictl"

	// on the developer's machine
	_ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
	_ "helm.sh/helm/v3/cmd/helm"
	_ "helm.sh/helm/v4/cmd/helm"
	_ "sigs.k8s.io/kind"

	// for the scheduling tests: nodes without machines
	_ "sigs.k8s.io/kwok/cmd/kwok"
)

package main

import (
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "omnia.altairalabs.ai", Version: "v1alpha1"}

// SandboxClaim has the fields that the rules read, and those that must survive a patch.
type SandboxClaim struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            SandboxClaimSpec      `json:"spec"`
	Status          *runtime.RawExtension `json:"status,omitempty"`
}

// SandboxClaimSpec is what a claim asks for.
type SandboxClaimSpec struct {
	AgentRuntimeRef AgentRuntimeRef `json:"agentRuntimeRef"`
	ClassRef        ClassRef        `json:"classRef"`
	SessionID       string          `json:"sessionID"`
	Handle          string          `json:"handle,omitempty"`
}

// AgentRuntimeRef names a runtime.
type AgentRuntimeRef struct {
	Name string `json:"name"`
}

// ClassRef names a class.
type ClassRef struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name"`
}

// DeepCopyObject is what runtime.Object asks for.
func (in *SandboxClaim) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Status != nil {
		out.Status = in.Status.DeepCopy()
	}
	return &out
}

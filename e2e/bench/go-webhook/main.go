// A webhook as most operators write one: controller-runtime, typed objects, three rules. Sandgate's
// own is measured beside it.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"

	admission "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	wire "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// What is made for a claim appends to its name, and that name must fit a label.
const longestName = 55

type defaulter struct{}

func (defaulter) Default(_ context.Context, claim *SandboxClaim) error {
	if claim.Spec.ClassRef.Kind == "" {
		claim.Spec.ClassRef.Kind = "SandboxClass"
	}
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, claim *SandboxClaim) (wire.Warnings, error) {
	if len(claim.Name) > longestName {
		return nil, fmt.Errorf("metadata.name: may be at most %d characters long", longestName)
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, old, claim *SandboxClaim) (wire.Warnings, error) {
	if claim.Spec.AgentRuntimeRef != old.Spec.AgentRuntimeRef {
		return nil, fmt.Errorf("spec.agentRuntimeRef: is immutable")
	}
	if claim.Spec.ClassRef != old.Spec.ClassRef {
		return nil, fmt.Errorf("spec.classRef: is immutable")
	}
	return v.ValidateCreate(ctx, claim)
}

func (validator) ValidateDelete(context.Context, *SandboxClaim) (wire.Warnings, error) {
	return nil, nil
}

func main() {
	port := flag.Int("port", 9443, "where to listen, on 127.0.0.1")
	certificates := flag.String("cert-dir", "", "folder of tls.crt and tls.key")
	flag.Parse()
	log.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &SandboxClaim{})
	if err := admission.AddToScheme(scheme); err != nil {
		fail(err)
	}
	server := webhook.NewServer(webhook.Options{
		Host:    "127.0.0.1",
		Port:    *port,
		CertDir: *certificates,
		// API servers speak HTTP/1.1 alone to the webhook of a Service, as an installation's is. Of the
		// URL that this one is known by they would make a single HTTP/2 connection.
		TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
	})
	server.Register("/mutate", wire.WithDefaulter[*SandboxClaim](scheme, defaulter{}))
	server.Register("/validate", wire.WithValidator[*SandboxClaim](scheme, validator{}))
	if err := server.Start(signals.SetupSignalHandler()); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

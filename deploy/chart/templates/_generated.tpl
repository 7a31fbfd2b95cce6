{{/*
The objects of a generated file, named after this release and labelled. The file's text is no template:
braces in CEL and in descriptions stay what they are. Names are put in where every text has quotes: a
namespace called 123 stays a text.
*/}}
{{- define "sandgate.generated" -}}
{{- $root := .root }}
{{- $text := required (printf "the chart is damaged: %s is missing" .file) ($root.Files.Get .file) }}
{{- range splitList "\n---\n" $text }}
{{- $object := fromYaml . }}
{{- if hasKey $object "Error" }}
{{- fail (printf "the chart is damaged: %s is no YAML: %s" $.file (get $object "Error")) }}
{{- end }}
{{- $object = $object | toJson | replace "the.release" $root.Release.Name | replace "the.namespace" $root.Release.Namespace | fromJson }}
{{- with $object.metadata }}
{{- /* Kinds of ours can be told from those that belong to another platform. */}}
{{- $component := dig "labels" "app.kubernetes.io/component" (base (dir $.file)) . }}
{{- $_ := set . "labels" (include "sandgate.labels" (dict "root" $root "component" $component) | fromYaml) }}
{{- if eq $object.kind "CustomResourceDefinition" }}
{{- /* With a kind goes every object of it: that is nothing `helm uninstall` should do. */}}
{{- $_ := set . "annotations" (dict "helm.sh/resource-policy" "keep") }}
{{- end }}
---
{{ toYaml $object }}
{{ end }}
{{- end }}
{{- end }}

{{/* What a generated file of admission rules is called: they differ in how the operator is recognised. */}}
{{- define "sandgate.rules" -}}
generated/{{ .name }}{{ if not .root.Values.requirePodBoundToken }}-any-token{{ end }}.yaml
{{- end }}

{{/*
Whether the policy comes along. It is left out where the API server does not serve the kind. A list without
any kind in it is that of a renderer that asked no API server: whatever the chart can run on serves it,
unless somebody switched it off.
*/}}
{{- define "sandgate.policyServed" -}}
{{- $served := .Capabilities.APIVersions }}
{{- if or ($served.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy") (not ($served.Has "apps/v1/Deployment")) -}}
true
{{- end }}
{{- end }}

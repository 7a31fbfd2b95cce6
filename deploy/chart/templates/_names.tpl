{{/* Labels of an object of this release: the pods' own, and where the object comes from. */}}
{{- define "sandgate.labels" -}}
{{ include "sandgate.selector" . }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- range $key, $value := .root.Values.labels }}
{{- if not (regexMatch "^(app\\.kubernetes\\.io/(name|instance|component|version|managed-by)|helm\\.sh/chart)$" $key) }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What tells this release from another. */}}
{{- define "sandgate.selector" -}}
app.kubernetes.io/name: sandgate
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- end }}

{{/* The image of every container, as YAML. */}}
{{- define "sandgate.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest | quote }}
{{- else }}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) | quote }}
{{- end }}
{{- end }}
{{- end }}

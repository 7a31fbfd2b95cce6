{{/*
Refuses what values.schema.json cannot judge and the controller would refuse when it starts: by then the
release stands, and its pods crash one after the other.
*/}}
{{- define "sandgate.checkNetwork" -}}
{{- $keys := list }}
{{- range splitList "," .Values.network.dns.podLabel }}
{{- $key := splitList "=" . | first }}
{{- if has $key $keys }}
{{- fail (printf "network.dns.podLabel names the label %q twice, which no pod can satisfy; name it once" $key) }}
{{- end }}
{{- $keys = append $keys $key }}
{{- end }}
{{- range $index, $address := .Values.network.dns.addresses }}
{{- include "sandgate.checkAddress" (dict "field" (printf "network.dns.addresses[%d]" $index) "text" $address) }}
{{- end }}
{{- range $index, $network := .Values.sandbox.egressProxy.denyCIDRs }}
{{- $one := printf "%s/%s" (splitList "/" $network | first) (ternary "128" "32" (contains ":" $network)) }}
{{- include "sandgate.checkBits" (dict "field" (printf "sandbox.egressProxy.denyCIDRs[%d]" $index) "text" $network "one" $one) }}
{{- end }}
{{- end }}

{{/* The groups of an address, each a number, with blanks between them. */}}
{{- define "sandgate.groups" -}}
{{- $groups := list }}
{{- if contains ":" . }}
{{- $halves := splitList "::" . }}
{{- $front := compact (splitList ":" (first $halves)) }}
{{- $back := list }}
{{- if eq (len $halves) 2 }}
{{- $back = compact (splitList ":" (last $halves)) }}
{{- end }}
{{- range concat $front (until (sub 8 (add (len $front) (len $back)) | int)) $back }}
{{- $groups = append $groups (ternary (printf "0x%v" . | int64) 0 (kindIs "string" .)) }}
{{- end }}
{{- else }}
{{- range splitList "." . }}
{{- $groups = append $groups (int64 .) }}
{{- end }}
{{- end }}
{{- join " " $groups }}
{{- end }}

{{/* Refuses a network with bits beyond its length; the one address is written otherwise. */}}
{{- define "sandgate.checkBits" -}}
{{- $parts := splitList "/" .text }}
{{- $width := ternary 16 8 (contains ":" .text) }}
{{- if eq (len $parts) 2 }}
{{- $length := last $parts | int64 }}
{{- range $index, $number := include "sandgate.groups" (first $parts) | splitList " " }}
{{- /* How many bits of this group are beyond the length. */}}
{{- $beyond := sub (mul $width (add1 $index)) $length | min $width | max 0 | int }}
{{- $unit := 1 }}
{{- range until $beyond }}
{{- $unit = mul $unit 2 }}
{{- end }}
{{- if mod (int64 $number) $unit }}
{{- fail (printf "%s: %s has bits set beyond its length; write the network's first address, or %s for the one address" $.field $.text $.one) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Refuses an address at which no resolver answers a pod, and a network with bits beyond its length. */}}
{{- define "sandgate.checkAddress" -}}
{{- $address := splitList "/" .text | first }}
{{- $six := contains ":" $address }}
{{- $told := include "sandgate.groups" $address }}
{{- $lead := splitList " " $told | first | int64 }}
{{- if and $six (hasPrefix "0 0 0 0 0 65535 " $told) }}
{{- fail (printf "%s: %s must be written as the IPv4 address it is" .field .text) }}
{{- end }}
{{- $nobody := regexMatch "^0( 0)*$" $told }}
{{- $itself := ternary (eq $told "0 0 0 0 0 0 0 1") (eq $lead 127) $six }}
{{- $group := ternary (ge $lead 65280) (and (ge $lead 224) (lt $lead 240)) $six }}
{{- if or $nobody $itself $group }}
{{- fail (printf "%s: no resolver answers a pod at %s; name the address in the pods' /etc/resolv.conf" .field .text) }}
{{- end }}
{{- include "sandgate.checkBits" (dict "field" .field "text" .text "one" $address) }}
{{- end }}

{{/*
Refuses test hosts that nobody has said he means, that no Connection could name, or that stand for two
Services.
*/}}
{{- define "sandgate.checkTestHosts" -}}
{{- with .Values.sandbox.egressProxy }}
{{- if and (or .insecureTestHosts .insecureTestSPKI) (not .acknowledgeInsecureTestOnly) }}
{{- fail "sandbox.egressProxy.insecureTestHosts lets sandboxes reach private addresses of the cluster: on a test cluster, set sandbox.egressProxy.acknowledgeInsecureTestOnly, and on any other leave it empty" }}
{{- end }}
{{- if and .insecureTestSPKI (not .insecureTestHosts) }}
{{- fail "sandbox.egressProxy.insecureTestSPKI is the key of test hosts, and insecureTestHosts names none" }}
{{- end }}
{{- $hosts := list }}
{{- range $index, $entry := .insecureTestHosts }}
{{- $host := $entry.host }}
{{- $label := "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?" }}
{{- if or (gt (len $host) 253) (not (regexMatch (printf "^(%s\\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?$" $label) $host)) }}
{{- fail (printf "sandbox.egressProxy.insecureTestHosts[%d]: %q is no DNS name of two labels or more, in lower case, like login.fixture.test" $index $host) }}
{{- end }}
{{- if has $host $hosts }}
{{- fail (printf "sandbox.egressProxy.insecureTestHosts names %s twice; name it once" $host) }}
{{- end }}
{{- $hosts = append $hosts $host }}
{{- end }}
{{- end }}
{{- end }}

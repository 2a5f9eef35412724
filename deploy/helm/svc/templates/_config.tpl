{{/* The options of values.config, one a line. A number is written as a person would: YAML's own 1e+06 is no number to the program. */}}
{{- define "svc.config" -}}
{{- range $name, $value := .Values.config }}
{{- if regexMatch (include "svc.ownOptions" $) $name }}
{{- fail (printf "config: %s is set by the chart; see the values database, auth, tls, drain, metrics, plugins and listenAddress" $name) }}
{{- end }}
{{ $name }}: {{ if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ int64 $value }}{{ else if kindIs "slice" $value }}{{ toJson $value }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- end -}}

{{/* Options that pods are given by environment, which would win over a file; of secrets, which belong into no ConfigMap; and of files, which have their places. */}}
{{- define "svc.ownOptions" -}}
^svc[.](server[.](host|port|access-url|access-ca-file|drain-timeout|shutdown-delay|tls[.].*)|access[.](host|port|api-url|ca-file|token-file|tls[.].*)|tls[.].*|data[.].*|database[.](url|url-file|ca-file|read-url|read-url-file)|controllers[.].*|metrics[.].*|plugins[.](dir|host-url)|security[.](initial-.*|key|key-file))$
{{- end -}}

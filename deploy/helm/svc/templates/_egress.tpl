{{/* Rules of NetworkPolicies that several pods have. */}}

{{/* By the port of the pods, not of their Service, as many networks see it: 5353 on OpenShift. */}}
{{- define "svc.dnsEgress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
    - { port: 5353, protocol: UDP }
    - { port: 5353, protocol: TCP }
{{- end -}}

{{- define "svc.databaseEgress" -}}
- ports:
    {{- include "svc.databasePorts" . | nindent 4 }}
  {{- if .Values.networkPolicy.databaseTo }}
  to: {{- toYaml .Values.networkPolicy.databaseTo | nindent 4 }}
  {{- else if .Values.database.cnpg.enabled }}
  to:
    - podSelector: { matchLabels: { cnpg.io/cluster: {{ include "svc.cluster" . }} } }
  {{- end }}
{{- end -}}

{{/* Those of the URL's hosts, where the values have it and it names them. */}}
{{- define "svc.databasePorts" -}}
{{- $hosts := regexReplaceAll "^[a-z]+://([^/?#]*@)?([^/?#]*).*$" .Values.database.url "${2}" -}}
{{- $ports := list -}}
{{- range splitList "," $hosts -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default $.Values.networkPolicy.databasePort | int) -}}
{{- end -}}
{{- range uniq $ports }}
- { port: {{ . }} }
{{- end -}}
{{- end -}}

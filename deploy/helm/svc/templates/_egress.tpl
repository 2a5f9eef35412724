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
    - { port: {{ include "svc.databasePort" . }} }
  {{- if .Values.networkPolicy.databaseTo }}
  to: {{- toYaml .Values.networkPolicy.databaseTo | nindent 4 }}
  {{- else if .Values.database.cnpg.enabled }}
  to:
    - podSelector: { matchLabels: { cnpg.io/cluster: {{ include "svc.cluster" . }} } }
  {{- end }}
{{- end -}}

{{/* The one of the URL, where the values have it and it names one. */}}
{{- define "svc.databasePort" -}}
{{- $host := regexReplaceAll "^[a-z]+://([^/?#]*@)?([^/?#]*).*$" .Values.database.url "${2}" -}}
{{- regexFind ":[0-9]+$" $host | trimPrefix ":" | default .Values.networkPolicy.databasePort | int -}}
{{- end -}}

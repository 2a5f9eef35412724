{{/* The programs there are: where their values are, and where they listen. Each Deployment, Service and so on is made once for each. */}}
{{- define "svc.components" -}}
- { key: apiserver, name: apiserver, port: 8090, tlsPort: 8443, database: true }
{{- if .Values.accessServer.enabled }}
- { key: accessServer, name: access-server, port: 8091, tlsPort: 8444, database: true }
{{- end }}
{{- if .Values.controllerManager.enabled }}
- { key: controllerManager, name: controller-manager, port: 8092 }
{{- end }}
{{- end -}}

{{- define "svc.hasTls" -}}
{{- if or .Values.tls.existingSecret .Values.tls.certManager.enabled }}true{{ end -}}
{{- end -}}

{{/* http or https: what a component speaks. Takes root and component. */}}
{{- define "svc.scheme" -}}
{{- if and (include "svc.hasTls" .root) .component.tlsPort }}https{{ else }}http{{ end -}}
{{- end -}}

{{- define "svc.containerPort" -}}
{{- $isTls := eq (include "svc.scheme" .) "https" -}}
{{- int ($isTls | ternary .component.tlsPort .component.port) -}}
{{- end -}}

{{- define "svc.servicePort" -}}
{{- $own := eq (include "svc.scheme" .) "https" | ternary 443 80 -}}
{{- int (default $own (index .root.Values .component.key).service.port) -}}
{{- end -}}

{{/* What other pods call a component by. The certificate has to have this name. */}}
{{- define "svc.serviceHost" -}}
{{ include "svc.fullname" .root }}-{{ .component.name }}.{{ .root.Release.Namespace }}.svc
{{- end -}}

{{- define "svc.serviceUrl" -}}
{{ include "svc.scheme" . }}://{{ include "svc.serviceHost" . }}:{{ include "svc.servicePort" . }}
{{- end -}}

{{- define "svc.apiUrl" -}}
{{- include "svc.serviceUrl" (dict "root" . "component" (index (include "svc.components" . | fromYamlArray) 0)) -}}
{{- end -}}

{{/* The first parts of the paths that access management answers at the host of the platform, too. */}}
{{- define "svc.accessPaths" -}}
[/api/v1/authentication, /api/v1/users, /api/v1/orgs, /api/v1/rbac, /api/v1/audits, /api/docs, /api/openapi.json, /login, /logout, /settings, /assets]
{{- end -}}

{{/* Access management, if its paths are reached so at the host of the platform. Takes root and how. */}}
{{- define "svc.accessOnPlatformHost" -}}
{{- range $component := include "svc.components" .root | fromYamlArray }}
{{- if and (eq .key "accessServer") (eq $.root.Values.accessServer.onPlatformHost $.how) }}
{{- toYaml . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "svc.podsOf" -}}
matchLabels:
  {{- include "svc.selectorLabels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component.name }}
{{- end -}}

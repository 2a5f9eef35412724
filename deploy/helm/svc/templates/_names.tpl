{{/* What every object is named after. Without the dots that a release may have, and cut so that the longest name made of it, with -controller-manager, is a DNS label, and a CronJob's has its 52 characters. */}}
{{- define "svc.fullname" -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name := contains $chart .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $chart) -}}
{{- default $name .Values.fullnameOverride | replace "." "-" | trunc 44 | trimSuffix "-" -}}
{{- end -}}

{{- define "svc.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "svc.labels" -}}
{{- with .Values.commonLabels }}{{ toYaml . }}
{{ end -}}
{{ include "svc.ownLabels" . }}
{{- end -}}

{{- define "svc.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "svc.selectorLabels" . }}
{{- end -}}

{{/* The same, and labels of a kind of object, which win over those of all objects; the chart's own win over both. Takes root and labels. */}}
{{- define "svc.labelsWith" -}}
{{- merge (include "svc.ownLabels" .root | fromYaml) .labels .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{/* The annotations of an object: those of all objects, those that the values give to it, and the chart's own; the later win. Takes root, given and own. */}}
{{- define "svc.annotations" -}}
{{- $all := dict -}}
{{- range list .root.Values.commonAnnotations .given .own -}}
{{- include "svc.overlay" (dict "onto" $all "with" (default dict .)) -}}
{{- end -}}
{{- with $all }}
  annotations: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "svc.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "svc.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create | ternary (include "svc.fullname" .) "default" -}}
{{- default $own .Values.serviceAccount.name -}}
{{- end -}}

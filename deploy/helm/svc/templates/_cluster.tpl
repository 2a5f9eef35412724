{{/* The spec of CloudNativePG's Cluster: the chart's own with extraSpec in it, key by key; a list is taken from there as a whole. */}}
{{- define "svc.clusterSpec" -}}
{{- $spec := include "svc.ownClusterSpec" . | fromYaml -}}
{{- include "svc.overlay" (dict "onto" $spec "with" .Values.database.cnpg.extraSpec) -}}
{{- toYaml $spec -}}
{{- end -}}

{{/* Writes what is in `with` into `onto`: 0, false and "" too, which merge and mergeOverwrite take for nothing. */}}
{{- define "svc.overlay" -}}
{{- range $key, $value := .with -}}
{{- $there := get $.onto $key -}}
{{- if and (kindIs "map" $value) (kindIs "map" $there) -}}
{{- include "svc.overlay" (dict "onto" $there "with" $value) -}}
{{- else -}}
{{- $_ := set $.onto $key $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "svc.ownClusterSpec" -}}
{{- with .Values.database.cnpg -}}
instances: {{ .instances }}
{{- with .imageName }}
imageName: {{ . | quote }}
{{- end }}
{{- if not .extraSpec.bootstrap }}
bootstrap: { initdb: { database: svc, owner: svc } }
{{- end }}
storage:
  size: {{ .storage.size }}
  {{- with .storage.storageClass }}
  storageClass: {{ . }}
  {{- end }}
{{- if .walStorage.size }}
walStorage:
  size: {{ .walStorage.size }}
  {{- with .walStorage.storageClass }}
  storageClass: {{ . }}
  {{- end }}
{{- end }}
postgresql:
  {{- if .synchronous.number }}
  synchronous:
    method: {{ .synchronous.method }}
    number: {{ .synchronous.number }}
    {{- if ne .synchronous.dataDurability "required" }}
    {{- /* Since CloudNativePG 1.25; before that, and by default, it is required. */}}
    dataDurability: {{ .synchronous.dataDurability }}
    {{- end }}
  {{- end }}
  parameters: {{- toYaml .parameters | nindent 4 }}
{{- with .resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .backup }}
backup: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Connections that the most pods open at most, as docs/sizing.md counts them: one more of each for a rolling upgrade, and 10 for operators. */}}
{{- define "svc.mostConnections" -}}
{{- $pool := int (default 10 (index .Values.config "svc.database.pool-size")) -}}
{{- $servers := include "svc.mostReplicas" .Values.apiserver | int -}}
{{- $workers := int (include "svc.workers" .) -}}
{{- $ofServer := add $pool 39 -}}
{{- if gt $workers 1 -}}
{{- $main := min $pool (max 4 (include "svc.partOf" (list $pool $workers) | int)) -}}
{{- $others := add (max 3 (include "svc.partOf" (list 6 $workers) | int)) (mul 2 (max 2 (include "svc.partOf" (list 8 $workers) | int))) (max 2 (include "svc.partOf" (list 4 $workers) | int)) (max 3 (include "svc.partOf" (list 8 $workers) | int)) -}}
{{- $ofServer = mul $workers (add $main $others 5) -}}
{{- end -}}
{{- $most := add (mul (add $servers 1) $ofServer) 10 -}}
{{- if .Values.accessServer.enabled -}}
{{- $most = add $most (mul (add (include "svc.mostReplicas" .Values.accessServer | int) 1) (add $pool 12)) -}}
{{- end -}}
{{- $most -}}
{{- end -}}

{{/* Workers of each API server. The program's own default, by the cores of the node, says nothing about a pod that has no limit. */}}
{{- define "svc.workers" -}}
{{- default 1 (index .Values.config "svc.server.workers") -}}
{{- end -}}

{{/* A number divided by another, rounded up. */}}
{{- define "svc.partOf" -}}
{{- $all := int (index . 0) -}}
{{- $parts := int (index . 1) -}}
{{- div (sub (add $all $parts) 1) $parts -}}
{{- end -}}

{{- define "svc.mostReplicas" -}}
{{- .autoscaling.enabled | ternary .autoscaling.maxReplicas .replicas | int -}}
{{- end -}}

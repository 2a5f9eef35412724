{{/*
A personal token ends in the CRC-32 of its 30 random characters, as six base62 digits, so that a typo is told at the start. Neither Helm nor sprig can compute
one: there is no exclusive or. So the CRC is a list of 32 bits here, lowest first, and the exclusive or of two bits is that they differ.
Takes text of ASCII; gives the CRC (that of zip and PNG: reflected, polynomial 0xEDB88320) as a decimal number.
*/}}
{{- define "svc.crc32" -}}
{{- $polynomial := list -}}
{{- range untilStep 31 -1 -1 }}{{ $polynomial = append $polynomial (eq (substr . (int (add . 1)) "11101101101110001000001100100000") "1") }}{{ end -}}
{{- $crc := list -}}
{{- range until 32 }}{{ $crc = append $crc true }}{{ end -}}
{{- $text := . -}}
{{- range $at := until (len $text) -}}
{{- $byte := int (index $text $at) -}}
{{- range until 8 -}}
{{- $differs := ne (first $crc) (eq (mod $byte 2) 1) -}}
{{- $byte = div $byte 2 -}}
{{- $shifted := append (rest $crc) false -}}
{{- if $differs -}}
{{- $crc = list -}}
{{- range $bit := until 32 }}{{ $crc = append $crc (ne (index $shifted $bit) (index $polynomial $bit)) }}{{ end -}}
{{- else -}}
{{- $crc = $shifted -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $sum := 0 -}}
{{- range $bit := untilStep 31 -1 -1 }}{{ $sum = add (mul $sum 2) (index $crc $bit | ternary 0 1) }}{{ end -}}
{{- $sum -}}
{{- end -}}

{{/* A new personal token, as `svc new-token` prints one. */}}
{{- define "svc.newToken" -}}
{{- $alphabet := "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" -}}
{{- $random := randAlphaNum 30 -}}
{{- $left := include "svc.crc32" $random | int64 -}}
{{- $digits := "" -}}
{{- range until 6 -}}
{{- $digit := int (mod $left 62) -}}
{{- $digits = print (substr $digit (int (add $digit 1)) $alphabet) $digits -}}
{{- $left = div $left 62 -}}
{{- end -}}
pat_{{ $random }}{{ $digits }}
{{- end -}}

#!/bin/sh
# A certificate authority for one cluster, and the certificate that its scheduler, workers and clients share.
#
#     sh certificates.sh FOLDER
#     kubectl create secret generic bigtopic-tls --from-file=ca.crt=FOLDER/ca.crt \
#         --from-file=tls.crt=FOLDER/tls.crt --from-file=tls.key=FOLDER/tls.key
#
# With cert-manager, let a Certificate write the secret bigtopic-tls instead: it has the same three files. Do not put
# ca.key on the cluster: it makes further certificates.
set -eu
umask 077
mkdir -p "$1"
cd "$1"
curve="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
openssl req $curve -x509 -days 3650 -subj "/CN=bigtopic authority" -keyout ca.key -out ca.crt
openssl req $curve -subj "/CN=bigtopic" -keyout tls.key -out tls.csr
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -out tls.crt
rm tls.csr

module sandgate.dev/clients/go

go 1.26.0

output "host" {
  value       = aws_db_instance.tickwork.address
  description = "For TICKWORK_DATABASE_URL: postgresql://tickwork:PASSWORD@HOST/tickwork?sslmode=verify-full"
}

output "password_secret" {
  value       = aws_db_instance.tickwork.master_user_secret[0].secret_arn
  description = "Where the provider keeps the password."
}

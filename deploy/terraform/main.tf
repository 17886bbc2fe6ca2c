# A sketch: a managed PostgreSQL for Tickwork on AWS, in two zones, with continuous backups. Fit names, sizes and
# networks to yours. Other providers have the same parts: version, size, standby, backups, parameters, network.
terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

resource "aws_db_parameter_group" "tickwork" {
  name   = "${var.name}-postgres"
  family = "postgres${var.postgres_major}"

  # Durable, as `tickwork doctor` wants it.
  parameter {
    name  = "synchronous_commit"
    value = "on"
  }

  # A dead client is noticed within seconds, so that its locks are released.
  parameter {
    name  = "tcp_keepalives_idle"
    value = "10"
  }
  parameter {
    name  = "tcp_keepalives_interval"
    value = "5"
  }
  parameter {
    name  = "tcp_keepalives_count"
    value = "3"
  }

  # Tickwork updates its newest rows often.
  parameter {
    name  = "autovacuum_naptime"
    value = "10"
  }
}

resource "aws_db_subnet_group" "tickwork" {
  name       = "${var.name}-postgres"
  subnet_ids = var.subnet_ids
}

resource "aws_security_group" "database" {
  name   = "${var.name}-postgres"
  vpc_id = var.vpc_id
}

# Only servers reach the database: workers and clients never do.
resource "aws_vpc_security_group_ingress_rule" "servers" {
  security_group_id            = aws_security_group.database.id
  referenced_security_group_id = var.server_security_group_id
  from_port                    = 5432
  to_port                      = 5432
  ip_protocol                  = "tcp"
}

resource "aws_db_instance" "tickwork" {
  identifier     = "${var.name}-postgres"
  engine         = "postgres"
  engine_version = var.postgres_major
  instance_class = var.instance_class
  db_name        = "tickwork"
  username       = "tickwork"

  # The provider makes the password and keeps it in its secret store.
  manage_master_user_password = true

  # A synchronous standby in another zone: no acknowledged commit is lost when one zone is.
  multi_az = true

  # Continuous backups: a restore loses at most five minutes (RPO), and any second of these days can be restored.
  backup_retention_period   = var.backup_days
  backup_window             = "03:00-04:00"
  maintenance_window        = "sun:04:30-sun:05:30"
  copy_tags_to_snapshot     = true
  deletion_protection       = true
  skip_final_snapshot       = false
  final_snapshot_identifier = "${var.name}-postgres-final"

  storage_type          = "gp3"
  storage_encrypted     = true
  allocated_storage     = var.storage_gib
  max_allocated_storage = var.storage_gib * 4

  parameter_group_name         = aws_db_parameter_group.tickwork.name
  db_subnet_group_name         = aws_db_subnet_group.tickwork.name
  vpc_security_group_ids       = [aws_security_group.database.id]
  performance_insights_enabled = true
  auto_minor_version_upgrade   = true
  apply_immediately            = false
}

variable "name" {
  type        = string
  default     = "tickwork"
  description = "The beginning of all names."
}

variable "vpc_id" {
  type        = string
  description = "The network of servers and database."
}

variable "subnet_ids" {
  type        = list(string)
  description = "Private subnets in two zones or more."
}

variable "server_security_group_id" {
  type        = string
  description = "The security group of the Tickwork servers."
}

variable "postgres_major" {
  type        = string
  default     = "17"
  description = "Tickwork needs 14 or newer."
}

variable "instance_class" {
  type        = string
  default     = "db.m7g.large"
  description = "See docs/operate/sizing.md."
}

variable "storage_gib" {
  type        = number
  default     = 100
  description = "See docs/operate/sizing.md."
}

variable "backup_days" {
  type        = number
  default     = 14
  description = "For how many days any second can be restored."
}
